/* expect: violated kind=deadlock preemptions=1
 * options: -std=c++17
 * A reader becomes a writer under a second lock, which another reader wants: each waits for the other. */
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static std::mutex upgrade;
static int value;

static void update()
{
	std::shared_lock<std::shared_mutex> reading(lock);
	std::lock_guard<std::mutex> one(upgrade);
	reading.unlock();
	std::unique_lock<std::shared_mutex> writing(lock);
	value++;
}

static void read_then_lock()
{
	std::shared_lock<std::shared_mutex> reading(lock);
	std::lock_guard<std::mutex> one(upgrade);
	(void)value;
}

int main()
{
	std::thread first(update), second(read_then_lock);
	first.join();
	second.join();
}
