// Package etcd keeps in etcd v3 where services are: servers register their
// addresses under leases, and clients resolve them and are told of changes.
//
// [Register] puts one address of a service, with its weight, zone, dialect
// and metadata, into etcd, and keeps it there until the [Registration] is closed or its process is gone
// for longer than the lease; a lease that etcd has lost is replaced. [Resolver] is a
// resolve.Resolver: it reads all addresses of a service, watches them, and
// reads them anew whenever the watch may have missed something.
//
// An address is one key, "/thrum/services/SERVICE/ADDRESS" unless told
// otherwise, with a JSON object as its value:
//
//	{"network": "tcp", "addr": "10.0.0.1:9090", "weight": 100, "zone": "eu-1", "dialect": "ttheader", "metadata": {"version": "7"}}
//
// Only addr is needed, so that other programs can write and read them.
//
// While etcd cannot be reached, resolvers keep the last set that they had,
// and registrations try again with growing pauses. The package must not know how calls are made or whom to call.
package etcd
