// Counts the bytes that a process holds from malloc, and their peak: preloaded (LD_PRELOAD) into
// the jobs that measure memory, so that any library's blocks are counted, to the byte.
//
// Every entry point of the heap hands on to glibc's own by its __libc_ name, which needs no look-up
// and so no allocation before main. A block counts with its usable size. mmap is not counted: no
// library here maps tensors by itself.

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void* block);

static _Atomic long live = 0;
static _Atomic long peak = 0;

static void* Taken(void* block) {
  if (block == NULL) return NULL;
  const long size = (long)malloc_usable_size(block);
  const long now = atomic_fetch_add(&live, size) + size;
  long highest = atomic_load(&peak);
  while (now > highest && !atomic_compare_exchange_weak(&peak, &highest, now)) {
  }
  return block;
}

static void Given(size_t size) { atomic_fetch_sub(&live, (long)size); }

// Bytes held now; forgets the peak before.
long live_bytes_reset_peak(void) {
  const long now = atomic_load(&live);
  atomic_store(&peak, now);
  return now;
}

// The most bytes held at once since the last reset.
long live_bytes_peak(void) { return atomic_load(&peak); }

void* malloc(size_t size) { return Taken(__libc_malloc(size)); }

void* calloc(size_t count, size_t size) { return Taken(__libc_calloc(count, size)); }

void* realloc(void* block, size_t size) {
  const size_t before = block == NULL ? 0 : malloc_usable_size(block);
  void* moved = __libc_realloc(block, size);
  // A realloc that fails leaves the block as it was; one to nothing frees it.
  if (moved == NULL && size != 0) return NULL;
  Given(before);
  return Taken(moved);
}

void* memalign(size_t alignment, size_t size) { return Taken(__libc_memalign(alignment, size)); }

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** block, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* taken = memalign(alignment, size);
  if (taken == NULL) return ENOMEM;
  *block = taken;
  return 0;
}

void free(void* block) {
  if (block == NULL) return;
  Given(malloc_usable_size(block));
  __libc_free(block);
}
