// A producer that waits and a consumer that waits: more elements than there is room for.
#include "atomic_queue/atomic_queue.h"
#include <cassert>
#include <thread>

int main() {
  static atomic_queue::AtomicQueue2<int, 2> queue;
  std::thread producer([] { for (int i = 1; i <= 3; i++) queue.push(i); });
  for (int i = 1; i <= 3; i++) assert(queue.pop() == i);
  producer.join();
}
