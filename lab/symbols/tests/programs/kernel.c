// Stands for a kernel: linked high, with a lock in a structure and a struct page.
struct page {
	unsigned long flags;
	union {
		struct {
			void *next;
			void *mapping;
		};
		long order;
	};
	int refcount;
	char rest[36];
};

struct zone {
	long free;
	struct {
		int value;
	} lock;
};

struct zone zone = {1, {2}};
struct page first_page;

__attribute__((section(".text.first"))) void _stext(void)
{
}

void take(void)
{
	__atomic_fetch_add(&zone.lock.value, 1, __ATOMIC_RELAXED); /* taken */
	first_page.flags = 1;
}
