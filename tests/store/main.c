/* The tests of src/store: the wrapper, adapters that lie, the single-document mode, memory that
 * runs out, the tree. */
#include "support.h"

int main(void)
{
	return test_tree() + test_wrapper() + test_lies() + test_document_mode() +
			test_revisions() + test_no_memory();
}
