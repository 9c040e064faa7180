/* A ring of one slot between one producer and one consumer. The slot is plain data: only the memory orders of
 * the two counters keep its accesses apart. PUBLISH is the order with which the producer says that it is full. */
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<unsigned> head{0}, tail{0};
static int slot;

static void produce()
{
	for (unsigned value = 1; value <= 2; value++) {
		while (tail.load(std::memory_order_relaxed) - head.load(std::memory_order_acquire) == 1)
			std::this_thread::yield();
		slot = static_cast<int>(value);
		tail.store(value, PUBLISH);
	}
}

static void consume()
{
	for (unsigned value = 1; value <= 2; value++) {
		while (tail.load(std::memory_order_acquire) == head.load(std::memory_order_relaxed))
			std::this_thread::yield();
		assert(slot == static_cast<int>(value));
		head.store(value, std::memory_order_release);
	}
}

int main()
{
	std::thread producer(produce), consumer(consume);
	producer.join();
	consumer.join();
}
