/* What GenMC's tests call, for programs that run as they are. Hints to its search are left out; hazard pointers keep what they
 * protect by never freeing it. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void __VERIFIER_assume(int);
int __VERIFIER_nondet_int(void);

typedef pthread_t __VERIFIER_thread_t;

static inline __VERIFIER_thread_t __VERIFIER_spawn(void *(*start)(void *), void *argument) {
    pthread_t thread;
    pthread_create(&thread, NULL, start, argument);
    return thread;
}

static inline void *__VERIFIER_join(__VERIFIER_thread_t thread) {
    void *result;
    pthread_join(thread, &result);
    return result;
}

#define __VERIFIER_spawn_symmetric(start, argument, thread) __VERIFIER_spawn(start, argument)
#define __VERIFIER_join_symmetric(thread) ((void)__VERIFIER_join(thread))

#define __VERIFIER_loop_begin() ((void)0)
#define __VERIFIER_spin_start() ((void)0)
#define __VERIFIER_spin_end(goes_on) ((void)(goes_on))
#define __VERIFIER_optional(code) ((void)0)

#define __VERIFIER_local_write(code) do { code; } while (0)
#define __VERIFIER_final_write(code) do { code; } while (0)
#define __VERIFIER_helped_CAS(code) do { code; } while (0)
#define __VERIFIER_helping_CAS(code) do { code; } while (0)
#define __VERIFIER_speculative_read(code) (code)
#define __VERIFIER_confirming_read(code) (code)
#define __VERIFIER_confirming_CAS(code) (code)
#define __VERIFIER_final_CAS(code) (code)

/* A hazard pointer. */
typedef struct { void *guarded; } __VERIFIER_hp_t;
static inline __VERIFIER_hp_t *__VERIFIER_hp_new(void) { return NULL; }
#define __VERIFIER_hp_alloc() __VERIFIER_hp_new()
#define __VERIFIER_hp_protect(pointer, place) __atomic_load_n((void **)(place), __ATOMIC_ACQUIRE)
#define __VERIFIER_hp_clear(pointer) ((void)(pointer))
#define __VERIFIER_hp_free(pointer) ((void)(pointer))
#define __VERIFIER_hp_retire(place) ((void)(place))

typedef pthread_mutex_t __VERIFIER_plock_t;
#define __VERIFIER_plock_lock(lock) pthread_mutex_lock(lock)
#define __VERIFIER_plock_unlock(lock) pthread_mutex_unlock(lock)

static inline void __VERIFIER_method_begin(const char *name, int32_t argument) { (void)name; (void)argument; }
static inline void __VERIFIER_method_end(const char *name, int32_t result) { (void)name; (void)result; }

#ifdef __cplusplus
}
#endif
