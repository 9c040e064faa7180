/* expect: violated kind=assertion preemptions=0
 * options: -std=c++20
 * C++20's semaphore, latch and waiting atomics: two holders are let in where one was meant. */
#include <atomic>
#include <cassert>
#include <latch>
#include <semaphore>
#include <thread>

static std::counting_semaphore<2> room(2); /* wrong: one was meant */
static std::latch ready(2);
static std::atomic<int> inside{0};

static void work()
{
	ready.arrive_and_wait();
	room.acquire();
	assert(inside.fetch_add(1) == 0);
	std::this_thread::yield();
	inside.fetch_sub(1);
	room.release();
}

int main()
{
	std::thread first(work), second(work);
	first.join();
	second.join();
}
