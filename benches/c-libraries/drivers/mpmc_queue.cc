// Two producers and a consumer that wait, over a ring of one.
#include "rigtorp/MPMCQueue.h"
#include <cassert>
#include <thread>

int main() {
  rigtorp::MPMCQueue<int> queue(1);
  std::thread first([&] { queue.push(1); });
  std::thread second([&] { queue.push(2); });
  int a = 0, b = 0;
  queue.pop(a);
  queue.pop(b);
  assert(a + b == 3 && a && b);
  first.join();
  second.join();
}
