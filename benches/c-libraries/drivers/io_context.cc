// Two threads run one event loop: two handlers on a strand and a timer.
#include <asio.hpp>
#include <cassert>
#include <thread>

int main() {
  asio::io_context loop;
  auto strand = asio::make_strand(loop);
  int count = 0;
  bool rang = false;
  asio::steady_timer timer(loop, std::chrono::milliseconds(5));
  timer.async_wait([&](std::error_code) { rang = true; });
  asio::post(strand, [&] { count++; });
  asio::post(loop, [&] { asio::post(strand, [&] { count++; }); });
  std::thread other([&] { loop.run(); });
  loop.run();
  other.join();
  assert(count == 2 && rang);
}
