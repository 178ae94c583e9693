package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/idl"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

// This file is "thrum gateway": HTTP and JSON in front of any Thrift server, by IDL that
// may change while it serves.

// gatewayOptions are the flags of "thrum gateway".
type gatewayOptions struct {
	speech
	idl     string
	dirs    *listFlag
	http    string
	timeout time.Duration
	tell    bool
	page    bool
}

func gatewayCommand() *command {
	return &command{
		name: "gateway", args: "ADDRESS --idl FILE|DIR [--http ADDRESS]",
		summary: "serve HTTP and JSON in front of a Thrift server",
		help: "ADDRESS is that of the server: host:port or unix:PATH. Each method answers\n" +
			"POST /Service/method with its arguments as JSON, and has the routes that annotations\n" +
			"such as api.get name; GET / lists all, for browsers as a page to try them on. When\n" +
			"the IDL changes, the routes do, at once and without losing a request; IDL that is\n" +
			"wrong is reported and changes nothing. It runs until Ctrl-C.\n" +
			dialectHelp,
		examples: []string{
			"thrum gateway 127.0.0.1:9090 --idl shop.thrift",
			"thrum gateway 10.0.0.1:9090 --idl idl --http :8080 --dialect ttheader",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			var o gatewayOptions
			o.declare(fs)
			o.dirs = includeFlag(fs)
			fs.StringVar(&o.idl, "idl", "", "the .thrift `file` that declares the services, or a directory of such files")
			fs.StringVar(&o.http, "http", demoHTTP, "serve HTTP on this `address`")
			fs.DurationVar(&o.timeout, "timeout", 10*time.Second, "give calls up after this `time`")
			fs.BoolVar(&o.tell, "tell-errors", false, "tell clients what is wrong inside, which is for trials")
			fs.BoolVar(&o.page, "explorer", true, "answer browsers at / with a page that lists and calls the methods")
			return func(env *environment, args []string) error {
				if len(args) != 1 {
					return usageError("the address of one server is needed")
				}
				if err := checkTimeout(o.timeout); err != nil {
					return err
				}
				return o.serve(env, args[0])
			}
		},
	}
}

func (o *gatewayOptions) serve(env *environment, backend string) error {
	var mu sync.Mutex // of stderr
	report := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(env.stderr, "thrum gateway:", err)
	}
	source, err := o.source(env, idl.Report(report))
	if err != nil {
		return err
	}
	options, err := o.client(backend)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(env.ctx, o.timeout)
	defer cancel()
	client, err := dial(ctx, backend, options)
	if err != nil {
		return unanswered(err, backend)
	}
	defer client.Close()

	serving := []gateway.Option{gateway.Timeout(o.timeout), gateway.Report(func(r *http.Request, status int, err error) {
		report(fmt.Errorf("%s %s: %d: %w", r.Method, r.URL.Path, status, err))
	})}
	if o.multiplexed {
		serving = append(serving, gateway.Multiplexed())
	}
	if o.page {
		serving = append(serving, gateway.Explorer())
	}
	if o.tell {
		serving = append(serving, gateway.TellErrors())
	}
	handler, err := gateway.New(thriftFiles(source.Set()), client, serving...)
	if err != nil {
		return err
	}
	stop, err := source.Follow(func(s *idl.Set) error { return handler.Replace(thriftFiles(s)) })
	if err != nil {
		return err
	}
	defer stop()
	go source.Watch(env.ctx, time.Second)
	return serveHTTP(env, o.http, handler, fmt.Sprintf("in front of %s, by %s", backend, o.idl))
}

// source opens the IDL. What is wrong with it is shown on stderr.
func (o *gatewayOptions) source(env *environment, opts ...idl.Option) (*idl.Source, error) {
	if o.idl == "" {
		return nil, usageError("--idl is missing: it names the .thrift file, or a directory of such files")
	}
	if isFBS(o.idl) || isProto(o.idl) {
		return nil, foreign(o.idl)
	}
	origin := idl.File(o.idl, thriftidl.IncludeDirs(*o.dirs...))
	if info, err := os.Stat(o.idl); err == nil && info.IsDir() {
		origin = idl.Dir(o.idl, thriftidl.IncludeDirs(*o.dirs...))
	}
	source, err := idl.Open(origin, opts...)
	var list diag.List
	if errors.As(err, &list) {
		return nil, shown(env.stderr, list)
	}
	if err != nil {
		return nil, err
	}
	if len(thriftFiles(source.Set())) == 0 {
		return nil, usageError("there is no .thrift file in " + o.idl)
	}
	return source, nil
}

// thriftFiles returns the files of Thrift, beside which a directory may have others.
func thriftFiles(s *idl.Set) []*schema.File {
	return slices.DeleteFunc(slices.Clone(s.Files()), func(f *schema.File) bool { return isFBS(f.Path()) })
}

// serveHTTP serves on an address until the user stops the command.
func serveHTTP(env *environment, address string, handler http.Handler, what string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	front := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- front.Serve(l) }()
	if _, err := fmt.Fprintf(env.stdout, "HTTP on http://%s/ %s\nCtrl-C ends it.\n", l.Addr(), what); err != nil {
		return errors.Join(err, front.Close())
	}
	select {
	case err := <-done:
		return err
	case <-env.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(env.ctx), demoGrace)
	defer cancel()
	return front.Shutdown(ctx)
}
