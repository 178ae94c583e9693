/* The limit of one server thread: an epoll loop that turns every frame into its
 * own reply. A call's arguments and its result differ in the message type and,
 * for echo, in the id of the one field, so a reply is its request with three
 * bytes patched: one read, all whole frames, one write, and no copy in between.
 *
 * It prints "port N" when it listens and ends when its standard input does. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 256 << 10, LARGEST = 16 << 20, REPLY = 2 };

/* data holds what arrived of a frame that is not whole yet. It is NULL until
 * there is one, and stays then: taking and returning memory would cost more. */
struct connection {
	int fd;
	size_t used, size;
	uint8_t *data;
};

static uint8_t block[BLOCK];

static uint32_t word(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

/* Makes a reply of the frame of n bytes at p; 0 if it is no call. */
static int answer(uint8_t *p, size_t n)
{
	if (n < 17 || p[4] != 0x80 || p[5] != 0x01) return 0;
	uint32_t name = word(p + 8);
	if (name > n - 17) return 0;
	p[7] = REPLY;
	uint8_t *arguments = p + 16 + name;
	if (*arguments != 0) { /* the first field: a type and an id */
		if (n - 17 - name < 3) return 0;
		arguments[1] = arguments[2] = 0;
	}
	return 1;
}

static int put(int fd, const uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
		if (k > 0) { p += k; n -= (size_t)k; continue; }
		if (k < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };
			poll(&wait, 1, -1);
		} else if (k == 0 || errno != EINTR) {
			return 0;
		}
	}
	return 1;
}

/* Answers the whole frames of the n bytes at p and returns their size, or -1. */
static ssize_t serve(int fd, uint8_t *p, size_t n)
{
	size_t at = 0;
	while (n - at >= 4) {
		size_t frame = 4 + (size_t)word(p + at);
		if (frame > LARGEST) return -1;
		if (frame > n - at) break;
		if (!answer(p + at, frame)) return -1;
		at += frame;
	}
	return put(fd, p, at) ? (ssize_t)at : -1;
}

/* Reads once; 0 when the connection has ended. */
static int turn(struct connection *c)
{
	uint8_t *p = c->data ? c->data : block;
	size_t size = c->data ? c->size : sizeof block;
	ssize_t k = recv(c->fd, p + c->used, size - c->used, 0);
	if (k <= 0) return k < 0 && (errno == EAGAIN || errno == EINTR);
	size_t have = c->used + (size_t)k;
	ssize_t done = serve(c->fd, p, have);
	if (done < 0) return 0;
	size_t left = have - (size_t)done;
	if (left > 0) {
		size_t want = left >= 4 ? 4 + (size_t)word(p + done) : 4;
		if (want < sizeof block) want = sizeof block;
		if (!c->data || c->size < want) {
			uint8_t *room = malloc(want);
			if (!room) return 0;
			memcpy(room, p + done, left);
			free(c->data);
			c->data = room;
			c->size = want;
		} else {
			memmove(c->data, p + done, left);
		}
	}
	c->used = left;
	return 1;
}

static void *until_told(void *unused)
{
	char b[64];
	while (read(0, b, sizeof b) > 0)
		;
	_exit(0);
	return unused;
}

int main(void)
{
	int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), loop = epoll_create1(0);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof a;
	if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 4096) ||
	    getsockname(listener, (struct sockaddr *)&a, &size)) {
		perror("listen");
		return 1;
	}
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL }, events[256];
	epoll_ctl(loop, EPOLL_CTL_ADD, listener, &e);
	pthread_t thread;
	pthread_create(&thread, NULL, until_told, NULL);
	printf("port %d\n", ntohs(a.sin_port));
	fflush(stdout);
	for (;;) {
		int n = epoll_wait(loop, events, 256, -1);
		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;
			if (c) {
				if (turn(c)) continue;
				close(c->fd);
				free(c->data);
				free(c);
				continue;
			}
			int fd;
			while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
				setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
				c = calloc(1, sizeof *c);
				if (!c) return 1;
				c->fd = fd;
				e.data.ptr = c;
				epoll_ctl(loop, EPOLL_CTL_ADD, fd, &e);
			}
		}
	}
}
