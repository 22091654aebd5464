/*
 * Stands in for valgrind's header in a server with AddressSanitizer (scripts/matrix --address-sanitizer): what such a
 * server, built with USE_VALGRIND, says of its memory is said to AddressSanitizer. So it knows where a palloc'ed chunk
 * ends, that it was freed, and which pages are pinned.
 */
#include <sanitizer/asan_interface.h>

#define VALGRIND_MAKE_MEM_DEFINED(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#define VALGRIND_MAKE_MEM_UNDEFINED(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#define VALGRIND_MAKE_MEM_NOACCESS(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define VALGRIND_MEMPOOL_ALLOC(pool, address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#define VALGRIND_MEMPOOL_CHANGE(pool, old, new, size) ASAN_UNPOISON_MEMORY_REGION(new, size)
/* With assertions a chunk is wiped and closed before it is freed. */
#define VALGRIND_MEMPOOL_FREE(pool, address) ((void) 0)
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, zeroed) ((void) 0)
#define VALGRIND_DESTROY_MEMPOOL(pool) ((void) 0)
#define VALGRIND_CHECK_MEM_IS_DEFINED(address, size) ((void) 0)
