// Each signal lets one thread through: two signals with a wait between them, two waits.
#include "autoresetevent.h"
#include <cassert>
#include <thread>

int main() {
  AutoResetEvent there, back;
  int data = 0;
  std::thread other([&] { there.wait(); assert(data == 1); data = 2; back.signal(); });
  data = 1;
  there.signal();
  back.wait();
  assert(data == 2);
  other.join();
}
