/* Where faults enter: a layer over the client's file system calls, and its allocator. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static struct bf_fault file_fault;
static _Atomic int fault_kind;
static sqlite3_vfs *below;

struct file {
	sqlite3_file base;
	sqlite3_file *real; /* behind this struct */
};

struct bf_fault *vfs_fault(void)
{
	return &file_fault;
}

void vfs_set_kind(enum fault_kind kind)
{
	fault_kind = kind;
}

static sqlite3_file *real(sqlite3_file *file)
{
	return ((struct file *)(void *)file)->real;
}

/* A full disk fails what makes files longer; a broken one fails everything. */
static bool fails(bool is_growth)
{
	if (fault_kind == FAULT_FULL && !is_growth) {
		return false;
	}
	return bf_fault_hit(&file_fault);
}

static int file_close(sqlite3_file *file)
{
	return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at)
{
	return fails(false) ? SQLITE_IOERR_READ
			    : real(file)->pMethods->xRead(real(file), bytes, len, at);
}

static int file_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	if (fails(true)) {
		return fault_kind == FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
	}
	return real(file)->pMethods->xWrite(real(file), bytes, len, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return fails(false) ? SQLITE_IOERR_TRUNCATE
			    : real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
	return fails(false) ? SQLITE_IOERR_FSYNC : real(file)->pMethods->xSync(real(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	return fails(false) ? SQLITE_IOERR_FSTAT
			    : real(file)->pMethods->xFileSize(real(file), ret_size);
}

static int file_lock(sqlite3_file *file, int lock)
{
	return real(file)->pMethods->xLock(real(file), lock);
}

static int file_unlock(sqlite3_file *file, int lock)
{
	return real(file)->pMethods->xUnlock(real(file), lock);
}

static int file_reserved(sqlite3_file *file, int *ret_lock)
{
	return real(file)->pMethods->xCheckReservedLock(real(file), ret_lock);
}

static int file_control(sqlite3_file *file, int what, void *data)
{
	return real(file)->pMethods->xFileControl(real(file), what, data);
}

static int file_sector(sqlite3_file *file)
{
	return real(file)->pMethods->xSectorSize(real(file));
}

static int file_characteristics(sqlite3_file *file)
{
	return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret_map)
{
	return fails(false)
			? SQLITE_IOERR_SHMMAP
			: real(file)->pMethods->xShmMap(real(file), page, size, extend, ret_map);
}

static int file_shm_lock(sqlite3_file *file, int from, int count, int flags)
{
	return real(file)->pMethods->xShmLock(real(file), from, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	real(file)->pMethods->xShmBarrier(real(file));
}

static int file_shm_unmap(sqlite3_file *file, int is_delete)
{
	return real(file)->pMethods->xShmUnmap(real(file), is_delete);
}

static const sqlite3_io_methods methods = {
		.iVersion = 2,
		.xClose = file_close,
		.xRead = file_read,
		.xWrite = file_write,
		.xTruncate = file_truncate,
		.xSync = file_sync,
		.xFileSize = file_size,
		.xLock = file_lock,
		.xUnlock = file_unlock,
		.xCheckReservedLock = file_reserved,
		.xFileControl = file_control,
		.xSectorSize = file_sector,
		.xDeviceCharacteristics = file_characteristics,
		.xShmMap = file_shm_map,
		.xShmLock = file_shm_lock,
		.xShmBarrier = file_shm_barrier,
		.xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *base, int flags,
		int *ret_flags)
{
	struct file *file = (struct file *)(void *)base;

	(void)vfs;
	base->pMethods = NULL;
	if (fails(false)) {
		return SQLITE_CANTOPEN;
	}
	file->real = (sqlite3_file *)(void *)(file + 1);
	int code = below->xOpen(below, name, file->real, flags, ret_flags);
	if (file->real->pMethods != NULL) {
		base->pMethods = &methods;
	}
	return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int is_synced)
{
	(void)vfs;
	return fails(false) ? SQLITE_IOERR_DELETE : below->xDelete(below, name, is_synced);
}

void vfs_install(void)
{
	static sqlite3_vfs vfs;

	if (below != NULL) {
		return;
	}
	below = sqlite3_vfs_find(NULL);
	vfs = *below;
	vfs.szOsFile = (int)sizeof(struct file) + below->szOsFile;
	vfs.zName = "belfry-test-faults";
	vfs.pNext = NULL;
	vfs.xOpen = vfs_open;
	vfs.xDelete = vfs_delete;
	assert_int_equal(sqlite3_vfs_register(&vfs, 1), SQLITE_OK);
}

/* --- memory --- */

static struct bf_fault memory_fault;

struct bf_fault *client_memory_fault(void)
{
	return &memory_fault;
}

static void *memory_alloc(int size)
{
	return bf_fault_hit(&memory_fault) ? NULL : malloc((size_t)size);
}

static void memory_free(void *pointer)
{
	free(pointer);
}

static void *memory_resize(void *pointer, int size)
{
	return bf_fault_hit(&memory_fault) ? NULL : realloc(pointer, (size_t)size);
}

static int memory_size(void *pointer)
{
	return (int)malloc_usable_size(pointer);
}

static int memory_round(int size)
{
	return (size + 7) / 8 * 8;
}

static int memory_init(void *data)
{
	(void)data;
	return SQLITE_OK;
}

static void memory_shutdown(void *data)
{
	(void)data;
}

void client_memory_install(void)
{
	static const sqlite3_mem_methods memory = {
			.xMalloc = memory_alloc,
			.xFree = memory_free,
			.xRealloc = memory_resize,
			.xSize = memory_size,
			.xRoundup = memory_round,
			.xInit = memory_init,
			.xShutdown = memory_shutdown,
	};

	assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &memory), SQLITE_OK);
}
