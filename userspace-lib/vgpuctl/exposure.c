// SPDX-License-Identifier: MIT
/*
 * Mistakes in the setup of windows that only an administrator can correct: users who may open a
 * window, and devices of VFIO beside it.
 */
#include <ctype.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "shared/vfio.h"
#include "vgpuctl.h"

/* Users as which libvirt runs the hypervisors of all guests, by distribution. */
static const char *const common_users[] = { "libvirt-qemu", "qemu", "qemu-libvirtd" };

/*
 * Beginning of the names of windows' device files, also in a /dev that libvirt made for a
 * hypervisor.
 */
#define WINDOW_NAME	"vgpu-window-"

/* --- users who may open a window ----------------------------------------- */

static void *list_add(void *list, size_t *nr, size_t size)
{
	unsigned char *more = reallocarray(list, *nr + 1, size);

	if (more)
		memset(more + (*nr)++ * size, 0, size);
	return more;
}

static bool opener_add(struct exposure *exposure, const char *kind, const char *name, uint32_t id)
{
	struct opener *openers = list_add(exposure->openers, &exposure->nr_openers,
					  sizeof(*openers));
	struct opener *opener;

	if (!openers)
		return false;
	exposure->openers = openers;
	opener = &openers[exposure->nr_openers - 1];
	opener->kind = kind;
	if (name)
		snprintf(opener->name, sizeof(opener->name), "%s", name);
	else
		snprintf(opener->name, sizeof(opener->name), "%" PRIu32, id);
	return true;
}

static bool opener_add_user(struct exposure *exposure, uint32_t uid)
{
	const struct passwd *user = getpwuid(uid);

	return opener_add(exposure, "user", user ? user->pw_name : NULL, uid);
}

static bool opener_add_group(struct exposure *exposure, uint32_t gid)
{
	const struct group *group = getgrgid(gid);

	return opener_add(exposure, "group", group ? group->gr_name : NULL, gid);
}

/* Check for permission to open a window. Permission to read is enough to see its content. */
static bool may_open(unsigned int permissions)
{
	return permissions & (ACL_READ | ACL_WRITE);
}

/*
 * Add users and groups of the file's ACL. *@found: set if it has one, which includes the rights
 * of the file's group. Return: false: out of memory.
 */
static bool openers_of_acl(struct exposure *exposure, const char *path, gid_t gid, bool *found)
{
	uint32_t buffer[1024];
	const struct posix_acl_xattr_header *header = (const void *)buffer;
	const struct posix_acl_xattr_entry *entry = (const void *)(header + 1), *end;
	ssize_t len = getxattr(path, "system.posix_acl_access", buffer, sizeof(buffer));
	unsigned int mask = ACL_READ | ACL_WRITE | ACL_EXECUTE, perm;
	bool ok = true;

	*found = len >= (ssize_t)sizeof(*header) &&
		 le32toh(header->a_version) == POSIX_ACL_XATTR_VERSION;
	if (!*found)
		return true;
	end = entry + (len - sizeof(*header)) / sizeof(*entry);
	for (; entry < end; entry++)
		if (le16toh(entry->e_tag) == ACL_MASK)
			mask = le16toh(entry->e_perm);
	for (entry = (const void *)(header + 1); ok && entry < end; entry++) {
		perm = le16toh(entry->e_perm) & mask;
		if (!may_open(perm))
			continue;
		if (le16toh(entry->e_tag) == ACL_USER)
			ok = opener_add_user(exposure, le32toh(entry->e_id));
		else if (le16toh(entry->e_tag) == ACL_GROUP)
			ok = opener_add_group(exposure, le32toh(entry->e_id));
		else if (le16toh(entry->e_tag) == ACL_GROUP_OBJ)
			ok = opener_add_group(exposure, gid);
	}
	return ok;
}

static bool is_common_user(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	size_t i;

	for (i = 0; user && i < sizeof(common_users) / sizeof(common_users[0]); i++)
		if (!strcmp(user->pw_name, common_users[i]))
			return true;
	return false;
}

/*
 * Check whether the owner of a window may open windows of other guests, too. Root is not
 * reported, since it may open all files in any case.
 */
static bool is_shared_owner(const struct vgpu_host_info *host, size_t window, uid_t uid)
{
	struct stat st;
	size_t i;

	if (!uid)
		return false;
	for (i = 0; i < host->nr_windows; i++)
		if (host->windows[i]->cid != host->windows[window]->cid &&
		    !stat(host->windows[i]->path, &st) && st.st_uid == uid)
			return true;
	return is_common_user(uid);
}

/* Find the users who may open a window. Return: false: out of memory. */
static bool find_openers(const struct vgpu_host_info *host, size_t window,
			 struct exposure *exposure)
{
	const char *path = host->windows[window]->path;
	bool has_acl = false;
	struct stat st;

	/* The window has been removed, or is being made anew. */
	if (stat(path, &st))
		return true;
	exposure->seen = true;
	if (S_ISCHR(st.st_mode))
		exposure->device = st.st_rdev;
	/*
	 * A window of a user-space engine has no device file: hypervisors get its memory by a
	 * socket.
	 */
	exposure->hypervisor = host->windows[window]->hypervisor;
	if (is_shared_owner(host, window, st.st_uid) && !opener_add_user(exposure, st.st_uid))
		return false;
	if (!openers_of_acl(exposure, path, st.st_gid, &has_acl))
		return false;
	if (!has_acl && may_open(st.st_mode >> 3) && !opener_add_group(exposure, st.st_gid))
		return false;
	return !may_open(st.st_mode) || opener_add(exposure, "everybody", "", 0);
}

/* --- processes with a window and VFIO ------------------------------------ */

/* Mark the windows to which this file of the process belongs. */
static void mark_windows(struct exposure *exposures, size_t nr, int dir, const char *name)
{
	struct statx stx;
	dev_t device;
	size_t i;

	/* Cached attributes are enough: a file system of a user's own may never answer. */
	if (statx(dir, name, AT_STATX_DONT_SYNC, STATX_TYPE, &stx) || !S_ISCHR(stx.stx_mode))
		return;
	device = makedev(stx.stx_rdev_major, stx.stx_rdev_minor);
	for (i = 0; i < nr; i++)
		if (exposures[i].device && exposures[i].device == device)
			exposures[i].marked = true;
}

/*
 * Examine the files of a process. statx() is called only for files that are named like windows,
 * since other files may be on a file system that does not answer. @vfio: set to the first file
 * of VFIO.
 */
static void look_at_files(DIR *files, struct exposure *exposures, size_t nr, char vfio[VFIO_NAME])
{
	struct dirent *entry;
	char file[256], *name;
	struct stat st;
	ssize_t len;

	while ((entry = readdir(files))) {
		len = readlinkat(dirfd(files), entry->d_name, file, sizeof(file) - 1);
		if (len <= 0)
			continue;
		file[len] = '\0';
		name = strrchr(file, '/');
		/* Skip files opened with O_PATH, which any process may have. */
		if (fstatat(dirfd(files), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !(st.st_mode & (S_IRUSR | S_IWUSR)))
			continue;
		if (!*vfio && vfio_is_file(dirfd(files), entry->d_name, file))
			vfio_name_copy(vfio, file);
		else if (name && !strncmp(name + 1, WINDOW_NAME, strlen(WINDOW_NAME)))
			mark_windows(exposures, nr, dirfd(files), entry->d_name);
	}
}

/* Examine the mappings of a process: a hypervisor may close the window's file after mmap(). */
static void look_at_maps(const char *process, struct exposure *exposures, size_t nr)
{
	char path[320], *line = NULL;
	unsigned long start, end;
	size_t size = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%s/maps", process);
	maps = fopen(path, "re");
	while (maps && getline(&line, &size, maps) > 0) {
		if (!strstr(line, "/" WINDOW_NAME) ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/map_files/%lx-%lx", process, start, end);
		mark_windows(exposures, nr, AT_FDCWD, path);
	}
	free(line);
	if (maps)
		fclose(maps);
}

static bool companion_add(struct exposure *exposure, uint32_t pid, const char *vfio)
{
	struct companion *companions = list_add(exposure->companions, &exposure->nr_companions,
						sizeof(*companions));

	if (!companions)
		return false;
	exposure->companions = companions;
	companions[exposure->nr_companions - 1].pid = pid;
	snprintf(companions[exposure->nr_companions - 1].path, sizeof(companions->path), "%s",
		 vfio);
	return true;
}

/* Examine a process. Return: 0; -EACCES if its files may not be seen; or -ENOMEM. */
static int look_at_process(const char *process, struct exposure *exposures, size_t nr)
{
	char path[300], vfio[VFIO_NAME] = "";
	DIR *files;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%s/fd", process);
	files = opendir(path);
	if (!files)
		return errno == ENOENT || errno == ESRCH ? 0 :
		       errno == ENOMEM ? -ENOMEM : -EACCES;
	for (i = 0; i < nr; i++)
		exposures[i].marked = exposures[i].hypervisor == strtoul(process, NULL, 10);
	look_at_files(files, exposures, nr, vfio);
	closedir(files);
	if (!*vfio)
		return 0;
	look_at_maps(process, exposures, nr);
	for (i = 0; i < nr; i++)
		if (exposures[i].marked &&
		    !companion_add(&exposures[i], strtoul(process, NULL, 10), vfio))
			return -ENOMEM;
	return 0;
}

static int find_companions(struct exposure *exposures, size_t nr)
{
	char link[64];
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	/*
	 * /proc/1/exe shows whether all processes can be seen: hidden processes would not be
	 * listed.
	 */
	int ret = proc && readlink("/proc/1/exe", link, sizeof(link)) >= 0 ? 0 : -EACCES;

	while (!ret && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			ret = look_at_process(entry->d_name, exposures, nr);
	if (proc)
		closedir(proc);
	return ret;
}

/* --- all windows --------------------------------------------------------- */

int exposures_find(const struct vgpu_host_info *host, struct exposure **exposures)
{
	struct exposure *all = calloc(host->nr_windows, sizeof(*all));
	bool seen = false;
	int ret = 0;
	size_t i;

	*exposures = all;
	if (!host->nr_windows)
		return 0;
	if (!all)
		return -ENOMEM;
	for (i = 0; i < host->nr_windows; i++) {
		if (!find_openers(host, i, &all[i]))
			return -ENOMEM;
		seen |= all[i].seen;
	}
	if (seen)
		ret = find_companions(all, host->nr_windows);
	for (i = 0; i < host->nr_windows; i++)
		all[i].companions_known = all[i].seen && !ret;
	return ret == -ENOMEM ? ret : 0;
}

void exposures_free(struct exposure *exposures, size_t nr)
{
	size_t i;

	for (i = 0; exposures && i < nr; i++) {
		free(exposures[i].openers);
		free(exposures[i].companions);
	}
	free(exposures);
}
