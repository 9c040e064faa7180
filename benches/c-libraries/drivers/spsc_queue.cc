// One producer and one consumer, both of which wait: three values through a queue with room for one.
#include "rigtorp/SPSCQueue.h"
#include <cassert>
#include <thread>

int main() {
  rigtorp::SPSCQueue<int> queue(1);
  std::thread producer([&] { for (int i = 1; i <= 3; i++) queue.push(i); });
  for (int i = 1; i <= 3; i++) {
    while (!queue.front())
      ;
    assert(*queue.front() == i);
    queue.pop();
  }
  producer.join();
}
