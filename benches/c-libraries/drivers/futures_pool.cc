// A pool that is destroyed with a task in its queue runs it first.
#include <memory>
#include "ThreadPool.h"
#include <cassert>

int main() {
  int ran = 0;
  {
    ThreadPool pool(2);
    auto answer = pool.enqueue([](int x) { return x + 1; }, 1);
    pool.enqueue([&] { ran = 1; });
    assert(answer.get() == 2);
  }
  assert(ran == 1);
}
