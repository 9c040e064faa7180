// The facilities for threads of C++11 to C++23, as `threads.c` has the functions of C.
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <syncstream>
#include <thread>
#include <vector>

static unsigned failing;
static void outcome(int which) { assert(which >= 0 && which < 32 && !(failing >> which & 1)); }

#define WORKS(name, outcomes) static void name()
// The same with these options.
#define WORKS_WITH(name, outcomes, options) static void name()
#define REFUSED(name, function) static void name()

using namespace std;
using namespace std::chrono_literals;

WORKS(threads, "1 2") {
  atomic<int> x{0};
  thread t([&](int value) { x = value; }, 1);
  outcome(x ? 1 : 2);
  assert(t.joinable() && t.get_id() != this_thread::get_id());
  thread u(move(t));
  u.join();
  assert(x == 1 && !u.joinable() && thread::hardware_concurrency() < 1u << 20);
}

WORKS(detached, "1 2") {
  static atomic<int> x{0};
  thread([] { x = 1; }).detach();
  this_thread::yield();
  outcome(x ? 1 : 2);
}

WORKS(joining_threads_and_stop_tokens, "1 2") {
  int rounds = 0;
  {
    jthread t([&](stop_token stop) { while (!stop.stop_requested()) { rounds = 1; this_thread::yield(); } });
  }
  outcome(rounds + 1);
}

WORKS(stop_callbacks, "1") {
  stop_source source;
  atomic<int> called{0};
  thread t([&] { stop_callback callback(source.get_token(), [&] { called++; }); while (!source.stop_requested()) this_thread::yield(); });
  assert(source.request_stop() && !source.request_stop());
  t.join();
  outcome(called);
}

WORKS(sleeping, "1 2") {
  atomic<int> x{0};
  thread t([&] { x = 1; });
  this_thread::sleep_for(1ms);
  this_thread::sleep_until(chrono::steady_clock::now() + 1ms);
  outcome(x ? 1 : 2);
  t.join();
}

static int shared_number;
template <class Mutex> void contend(Mutex &m) {
  shared_number = 0;
  thread t([&] { lock_guard<Mutex> guard(m); shared_number++; });
  int seen;
  { lock_guard<Mutex> guard(m); seen = shared_number++; }
  t.join();
  assert(shared_number == 2);
  outcome(seen + 1);
}
WORKS(mutexes, "1 2") { mutex m; contend(m); }
WORKS(recursive_mutexes, "1 2") { recursive_mutex m; lock_guard outer(m); lock_guard inner(m); m.unlock(); m.unlock(); contend(m); m.lock(); m.lock(); }
WORKS(timed_mutexes, "1 2") { timed_mutex m; contend(m); }
WORKS(recursive_timed_mutexes, "1 2") { recursive_timed_mutex m; contend(m); }
WORKS(shared_mutexes, "1 2") { shared_mutex m; contend(m); }
WORKS(shared_timed_mutexes, "1 2") { shared_timed_mutex m; contend(m); }

WORKS(trying, "1 2") {
  timed_mutex m;
  thread t([&] { scoped_lock guard(m); });
  unique_lock guard(m, try_to_lock);
  outcome(guard ? 1 : 2);
  if (guard) guard.unlock();
  t.join();
}

WORKS(trying_for_a_time, "1 2") {
  timed_mutex m;
  atomic<bool> end{false};
  thread t([&] { lock_guard guard(m); while (!end) this_thread::yield(); });
  bool had = m.try_lock_for(1ms);
  outcome(had ? 1 : 2);
  if (had) m.unlock();
  end = true;
  t.join();
}

// Two threads may take the first of two locks each and give it back for ever, so there is a bound.
WORKS_WITH(several_locks, "1", "--bound 3") {
  mutex a, b;
  thread t([&] { scoped_lock both(a, b); shared_number = 1; });
  lock(b, a);
  shared_number = 2;
  a.unlock(), b.unlock();
  t.join();
  outcome(1);
}

WORKS(readers, "1") {
  shared_mutex m;
  atomic<int> inside{0};
  auto read = [&] { shared_lock guard(m); inside++; while (inside < 2) this_thread::yield(); };
  thread a(read), b(read);
  a.join(), b.join();
  outcome(1);
}

static once_flag once;
WORKS(once_only, "1") {
  int calls = 0;
  auto call = [&] { call_once(once, [&] { calls++; }); };
  thread a(call), b(call);
  a.join(), b.join();
  outcome(calls);
}

WORKS(static_variables, "1") {
  static int made;
  auto make = [] { static int value = ++made; assert(value == 1); };
  thread a(make), b(make);
  a.join(), b.join();
  outcome(made);
}

struct Counted { static inline atomic<int> alive{0}; Counted() { alive++; } ~Counted() { alive--; } };
WORKS(thread_local_objects, "1") {
  auto use = [] { thread_local Counted own; assert(Counted::alive >= 1); };
  thread a(use), b(use);
  a.join(), b.join();
  assert(Counted::alive == 0);
  outcome(1);
}

template <class Condition> void wait_for_it(Condition &c) {
  mutex m;
  bool ready = false;
  thread t([&] { { lock_guard guard(m); ready = true; } c.notify_one(); });
  int waits = 0;
  unique_lock guard(m);
  c.wait(guard, [&] { if (!ready) waits = 1; return ready; });
  guard.unlock();
  t.join();
  outcome(1 + waits);
}
WORKS(conditions, "1 2") { condition_variable c; wait_for_it(c); }
WORKS(conditions_of_any_lock, "1 2") { condition_variable_any c; wait_for_it(c); }

WORKS(timed_conditions, "1 2") {
  condition_variable c;
  mutex m;
  bool ready = false;
  thread t([&] { { lock_guard guard(m); ready = true; } c.notify_all(); });
  unique_lock guard(m);
  bool found = c.wait_for(guard, 1ms, [&] { return ready; });
  outcome(found ? 1 : 2);
  guard.unlock();
  t.join();
}

WORKS(promises, "1") {
  promise<int> p;
  thread t([&] { p.set_value(5); });
  assert(p.get_future().get() == 5);
  t.join();
  outcome(1);
}

WORKS(promises_with_exceptions, "1") {
  promise<void> p;
  auto f = p.get_future().share();
  thread t([&] { try { throw 7; } catch (...) { p.set_exception(current_exception()); } });
  try { f.get(); assert(false); } catch (int value) { outcome(value == 7); }
  t.join();
}

WORKS(asynchronous_calls, "1 2") {
  atomic<int> x{0};
  auto f = async(launch::async, [&] { x = 1; return 2; });
  outcome(x ? 1 : 2);
  assert(f.get() == 2);
  auto g = async(launch::deferred, [] { return 3; });
  assert(g.get() == 3);
}

WORKS(packaged_tasks, "1 2") {
  packaged_task<int(int)> task([](int n) { return n + 1; });
  auto f = task.get_future();
  thread t(move(task), 1);
  outcome(f.wait_for(0s) == future_status::ready ? 1 : 2);
  assert(f.get() == 2);
  t.join();
}

// That of libstdc++ 12 changes its number with less than sequential consistency and may lose the wakeup.
WORKS_WITH(latches, "1", "--memory-model sc") {
  latch l(2);
  int data = 0;
  thread t([&] { data = 1; l.count_down(); });
  l.arrive_and_wait();
  assert(data == 1 && l.try_wait());
  t.join();
  outcome(1);
}

WORKS(barriers, "1") {
  int rounds = 0;
  auto complete = [&]() noexcept { rounds++; };
  barrier b(2, complete);
  thread t([&] { b.arrive_and_wait(); b.arrive_and_drop(); });
  b.arrive_and_wait();
  assert(rounds >= 1);
  b.wait(b.arrive());
  assert(rounds == 2);
  t.join();
  outcome(1);
}

WORKS(semaphores, "1 2") {
  binary_semaphore s(0);
  int data = 0;
  thread t([&] { data = 1; s.release(); });
  if (s.try_acquire()) { assert(data == 1); outcome(1); } else outcome(2);
  t.join();
}

WORKS(atomics, "1 2") {
  // Every operation of std::atomic on integers, and orders of another thread's values.
  atomic<int> x{1};
  thread t([&] { x.store(2, memory_order_release); });
  outcome(x.load(memory_order_acquire));
  t.join();
  assert(x.exchange(3) == 2 && x.fetch_add(2) == 3 && x.fetch_sub(1) == 5 && x.fetch_and(6) == 4 && x.fetch_or(1) == 4 && x.fetch_xor(3) == 5);
  int expected = 6;
  assert(x.compare_exchange_strong(expected, 1) && ++x == 2 && x-- == 2 && (x += 4) == 5 && (x |= 8) == 13 && int(x) == 13);
  while (!x.compare_exchange_weak(expected, 0)) ;
  assert(atomic<int>::is_always_lock_free && x.is_lock_free());
}

WORKS(atomics_of_other_types, "1") {
  atomic<bool> b{false};
  atomic<int *> p{nullptr};
  int numbers[2];
  atomic<double> d{1.5};
  struct Pair { int a, b; };
  atomic<Pair> pair{{1, 2}};
  thread t([&] { b = true; p = numbers; d.fetch_add(1.0); pair = Pair{3, 4}; });
  t.join();
  assert(b && p.fetch_add(1) == numbers && p == numbers + 1 && d == 2.5 && pair.load().b == 4);
  long plain = 1;
  atomic_ref<long> ref(plain);
  assert(ref.fetch_add(1) == 1 && plain == 2);
  outcome(1);
}

WORKS(flags, "1 2") {
  atomic_flag f = ATOMIC_FLAG_INIT;
  thread t([&] { f.test_and_set(); f.notify_all(); });
  outcome(f.test() ? 1 : 2);
  f.wait(false);
  t.join();
  f.clear();
  assert(!f.test());
}

WORKS(waiting_for_atomics, "1") {
  atomic<int> x{0};
  thread t([&] { x = 1; x.notify_one(); });
  x.wait(0);
  assert(x == 1);
  t.join();
  outcome(1);
}

WORKS(fences, "1 2") {
  atomic<int> x{0}, y{0};
  thread t([&] { x.store(1, memory_order_relaxed); atomic_thread_fence(memory_order_release); y.store(1, memory_order_relaxed); });
  bool seen = y.load(memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  atomic_signal_fence(memory_order_seq_cst);
  if (seen) assert(x.load(memory_order_relaxed) == 1);
  outcome(seen ? 1 : 2);
  t.join();
}

WORKS(relaxed_messages, "1 2 3") {
  atomic<int> x{0}, y{0};
  thread t([&] { x.store(1, memory_order_relaxed); y.store(1, memory_order_relaxed); });
  int b = y.load(memory_order_relaxed), a = x.load(memory_order_relaxed);
  outcome(!b ? 1 : a ? 2 : 3);
  t.join();
}

WORKS(shared_pointers, "1") {
  auto p = make_shared<Counted>();
  weak_ptr<Counted> w = p;
  thread t([q = p]() mutable { q.reset(); });
  p.reset();
  t.join();
  assert(w.expired() && Counted::alive == 0);
  outcome(1);
}

// That of libstdc++ 12 gives its lock back without release after reading, which is a race by the letter.
WORKS_WITH(atomic_shared_pointers, "1 2", "--races off") {
  atomic<shared_ptr<int>> p{make_shared<int>(1)};
  thread t([&] { p.store(make_shared<int>(2)); });
  outcome(*p.load());
  t.join();
  assert(*p.load() == 2);
}

WORKS(exceptions, "1") {
  // An exception that is caught in its own thread; exception pointers that go to another.
  exception_ptr e;
  thread t([&] { try { throw string("text"); } catch (...) { e = current_exception(); } });
  t.join();
  try { rethrow_exception(e); } catch (const string &text) { outcome(text == "text"); }
}

WORKS(synchronised_streams, "1 2") {
  ostringstream out;
  auto say = [&](int n) { osyncstream(out) << n << n; };
  thread t(say, 1);
  say(2);
  t.join();
  assert(out.str() == "1122" || out.str() == "2211");
  outcome(out.str() == "1122" ? 1 : 2);
}

REFUSED(values_at_the_end_of_a_thread, "set_value_at_thread_exit") {
  promise<int> p;
  thread t([&] { p.set_value_at_thread_exit(1); });
  t.join();
}

WORKS(notifications_at_the_end_of_a_thread, "1") {
  mutex m;
  condition_variable c;
  bool ready = false;
  thread t([&] { thread_local Counted own; unique_lock guard(m); ready = true; notify_all_at_thread_exit(c, move(guard)); });
  unique_lock guard(m);
  c.wait(guard, [&] { return ready; });
  assert(Counted::alive == 0);
  guard.unlock();
  t.join();
  outcome(1);
}

struct Global { atomic<int> x{0}; thread t; Global() : t([this] { x = 1; }) {} ~Global() { t.join(); outcome(x == 1); } };
WORKS(objects_that_outlive_main, "1") { static Global global; }

#include "threads_of_cxx.cases"

int main(int count, char **words) {
  if (count < 2) return 2;
  failing = count > 2 ? strtoul(words[2], 0, 10) : 0;
  for (auto &[name, run] : cases)
    if (!strcmp(name, words[1])) { run(); return 0; }
  return 2;
}
