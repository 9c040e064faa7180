// One producer, one consumer, and a queue that has to grow.
#include "readerwriterqueue.h"
#include <cassert>
#include <thread>

int main() {
  moodycamel::ReaderWriterQueue<int> queue(1);
  std::thread producer([&] { for (int i = 1; i <= 3; i++) queue.enqueue(i); });
  int last = 0, value;
  for (int round = 0; round < 3; round++)
    if (queue.try_dequeue(value)) assert(value == ++last);
  producer.join();
  while (queue.try_dequeue(value)) assert(value == ++last);
  assert(last == 3);
}
