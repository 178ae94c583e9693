package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// This file holds sockets that a process is started with, and those that
// several processes share.

// FirstInherited is the number of the first descriptor that a process is
// started with beside its standard ones: that of the first of exec.Cmd's
// ExtraFiles, and the first of systemd's.
const FirstInherited = 3

// Inherit returns the listening sockets that the process was started with at
// count descriptors from first on, and closes the descriptors. On failure nothing stays open.
func Inherit(first, count int) ([]net.Listener, error) {
	var list []net.Listener
	var failed error
	for fd := first; fd < first+count; fd++ {
		l, err := listenerOf(fd)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		list = append(list, l)
	}
	if failed != nil {
		for _, l := range list {
			l.Close()
		}
		return nil, failed
	}
	return list, nil
}

// listenerOf returns the listening socket at a descriptor, which it closes.
func listenerOf(fd int) (net.Listener, error) {
	file := os.NewFile(uintptr(fd), "inherited")
	if file == nil {
		return nil, fmt.Errorf("handover: %d is no descriptor", fd)
	}
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("handover: descriptor %d: %w", fd, err)
	}
	return l, nil
}

// Socket is a listening socket with a name.
type Socket struct {
	Name     string // that systemd's unit gives it by FileDescriptorName; "unknown" without
	Listener net.Listener
}

// Activated returns the listening sockets that systemd has started the
// process with, in its order. The arguments are the values of the variables
// LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, which the program reads. Without
// the first two, or if they are for another process, there are none.
func Activated(pid, fds, names string) ([]Socket, error) {
	return activated(FirstInherited, pid, fds, names)
}

func activated(first int, pid, fds, names string) ([]Socket, error) {
	if pid == "" || fds == "" {
		return nil, nil
	}
	if n, err := strconv.Atoi(pid); err != nil {
		return nil, fmt.Errorf("handover: LISTEN_PID: %w", err)
	} else if n != os.Getpid() {
		return nil, nil
	}
	count, err := strconv.ParseUint(fds, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("handover: LISTEN_FDS: %w", err)
	}
	list, err := Inherit(first, int(count))
	if err != nil {
		return nil, err
	}
	given := strings.Split(names, ":")
	sockets := make([]Socket, len(list))
	for i, l := range list {
		sockets[i] = Socket{"unknown", l}
		if i < len(given) && given[i] != "" {
			sockets[i].Name = given[i]
		}
	}
	return sockets, nil
}

// Files returns the sockets of listeners as files, for ExtraFiles of the
// exec.Cmd that starts a successor, which gets them by [Inherit]. The listeners go on; the caller
// closes the files when the successor has started. A Unix socket's path
// stays when its listener is closed.
func Files(listeners ...net.Listener) ([]*os.File, error) {
	var files []*os.File
	for _, l := range listeners {
		f, err := fileOf(l)
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func fileOf(l net.Listener) (*os.File, error) {
	socket, ok := l.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("handover: %T is no socket", l)
	}
	keepPaths(true, l)
	return socket.File()
}

// keepPaths says whether a Unix socket's path stays when the listener is closed.
func keepPaths(keep bool, l net.Listener) {
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(!keep)
	}
}

// ListenShared listens on an address on which other processes listen, too, by
// SO_REUSEPORT: the system spreads connections over them. When one of them closes its
// listener, the connections that wait at it are reset, so that to replace a process
// its socket is better handed over. The error is errors.ErrUnsupported where there is no such option.
func ListenShared(ctx context.Context, network, address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		err := errors.ErrUnsupported
		if e := c.Control(func(fd uintptr) { err = shareAddress(fd) }); e != nil {
			return e
		}
		return err
	}}
	return config.Listen(ctx, network, address)
}
