/* expect: holds
 * A queue of C++ with a condition variable, thread-local counters and an exception that travels through
 * a future. */
#include <cassert>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

class Queue {
	std::mutex lock;
	std::condition_variable changed;
	std::deque<int> items;

public:
	void push(int item)
	{
		std::lock_guard<std::mutex> guard(lock);
		items.push_back(item);
		changed.notify_one();
	}
	int pop()
	{
		std::unique_lock<std::mutex> guard(lock);
		changed.wait(guard, [this] { return !items.empty(); });
		int item = items.front();
		items.pop_front();
		return item;
	}
};

static thread_local int count = 0;

int main()
{
	Queue queue;
	int sum = 0;
	std::thread consumer([&] {
		for (int i = 0; i < 2; i++) {
			sum += queue.pop();
			count++;
		}
		assert(count == 2);
	});
	queue.push(1);
	queue.push(2);
	consumer.join();
	assert(sum == 3 && count == 0);
	std::promise<int> promise;
	std::future<int> future = promise.get_future();
	std::thread thrower([&] {
		try {
			throw std::runtime_error("expected");
		} catch (...) {
			promise.set_exception(std::current_exception());
		}
	});
	bool caught = false;
	try {
		future.get();
	} catch (const std::runtime_error &) {
		caught = true;
	}
	thrower.join();
	assert(caught);
}
