// A consumer that waits gets what a producer adds, whichever comes first.
#include "blockingconcurrentqueue.h"
#include <cassert>
#include <thread>

int main() {
  moodycamel::BlockingConcurrentQueue<int> queue(4);
  std::thread producer([&] { queue.enqueue(1); });
  int value = 0;
  queue.wait_dequeue(value);
  assert(value == 1);
  producer.join();
}
