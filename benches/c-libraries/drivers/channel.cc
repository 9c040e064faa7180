// Two values through a channel of one, then it is closed.
#include "msd/channel.hpp"
#include <cassert>
#include <thread>

int main() {
  msd::channel<int> channel(1);
  std::thread producer([&] { channel << 1; channel << 2; channel.close(); });
  int value = 0, sum = 0;
  while (channel.read(value)) sum += value;
  assert(sum == 3);
  producer.join();
}
