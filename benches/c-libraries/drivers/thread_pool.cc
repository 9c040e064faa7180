// A pool of two threads runs two tasks; waiting for them means that they have run.
#include "BS_thread_pool.hpp"
#include <cassert>

int main() {
  BS::thread_pool pool(2);
  int one = 0, two = 0;
  auto first = pool.submit_task([&] { return one = 1; });
  pool.detach_task([&] { two = 2; });
  pool.wait();
  assert(one == 1 && two == 2);
  assert(first.get() == 1);
}
