/* expect: holds
 * pthread_exit destroys the objects of the functions that it leaves. */
#include <cassert>
#include <mutex>
#include <pthread.h>

static std::mutex lock;
static int destroyed;

struct Counted {
	~Counted() { destroyed++; }
};

static void leave()
{
	Counted counted;
	std::lock_guard<std::mutex> guard(lock);
	pthread_exit(nullptr);
}

static void *work(void *)
{
	Counted counted;
	leave();
	return nullptr;
}

int main()
{
	pthread_t thread;
	pthread_create(&thread, nullptr, work, nullptr);
	{
		std::lock_guard<std::mutex> guard(lock);
	}
	pthread_join(thread, nullptr);
	assert(destroyed == 2);
}
