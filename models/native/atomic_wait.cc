/* expect: holds
 * options: -std=c++20
 * One thread waits for an atomic number of C++20 to change, by futex. The store before the notification is
 * sequentially consistent: with a release store libstdc++ 12 may miss that somebody waits. */
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> ready{0};
static int number;

int main()
{
	std::thread publisher([] {
		number = 42;
		ready.store(1);
		ready.notify_one();
	});
	ready.wait(0, std::memory_order_acquire);
	assert(number == 42);
	publisher.join();
}
