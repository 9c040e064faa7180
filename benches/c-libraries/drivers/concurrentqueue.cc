// Two producers and a consumer: what comes out is what went in, each once, and each producer's values in its order.
#include "concurrentqueue.h"
#include <cassert>
#include <thread>

int main() {
  moodycamel::ConcurrentQueue<int> queue(4);
  std::thread first([&] { queue.enqueue(1); queue.enqueue(2); });
  std::thread second([&] { queue.enqueue(3); });
  int seen = 0, last = 0, value;
  for (int round = 0; round < 2; round++)
    if (queue.try_dequeue(value)) {
      assert(!(seen & 1 << value));
      seen |= 1 << value;
      if (value < 3) { assert(value > last); last = value; }
    }
  first.join();
  second.join();
  while (queue.try_dequeue(value)) {
    assert(!(seen & 1 << value));
    seen |= 1 << value;
  }
  assert(seen == 0b1110);
}
