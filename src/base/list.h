/* The intrusive list: the element embeds a link, and an element knows whether it is in a list. In-memory
 * state IS membership: moving an element from one list to another is changing its state. */
#ifndef BF_LIST_H
#define BF_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"

struct bf_list;

struct bf_link {
	struct bf_link *next;
	struct bf_link *previous;
	struct bf_list *list; /* NULL: in none */
};

struct bf_list {
	struct bf_link *first;
	struct bf_link *last;
	size_t count;
};

static inline void bf_list_append(struct bf_list *list, struct bf_link *link)
{
	BF_ASSERT(link->list == NULL);
	*link = (struct bf_link){.previous = list->last, .list = list};
	if (list->last != NULL) {
		list->last->next = link;
	} else {
		list->first = link;
	}
	list->last = link;
	list->count++;
}

/* Leaves the list that it is in; nothing where it is in none. */
static inline void bf_list_remove(struct bf_link *link)
{
	struct bf_list *list = link->list;

	if (list == NULL) {
		return;
	}
	*(link->previous != NULL ? &link->previous->next : &list->first) = link->next;
	*(link->next != NULL ? &link->next->previous : &list->last) = link->previous;
	list->count--;
	*link = (struct bf_link){0};
}

static inline void bf_list_move(struct bf_list *list, struct bf_link *link)
{
	bf_list_remove(link);
	bf_list_append(list, link);
}

#define BF_CONTAINER(pointer, type, member)                                                        \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
