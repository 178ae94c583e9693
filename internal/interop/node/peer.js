// Apache Thrift's Node library as a client and as a server of the bookshop.
//
//     node peer.js TRANSPORT PROTOCOL SERVICE PORT TRANSPORT PROTOCOL SERVICE
//
// It serves the bookshop in the first three's dialect, prints its port, and
// forwards each call to the server at PORT in the other's: a server and a
// client, both of generated code. SERVICE is the name in the multiplexed
// protocol, or empty. What `thrift --gen js:node,es6` makes of
// testdata/peer.thrift must be in NODE_PATH, and the library too.
//
// Generated processors keep only the text of an error that is not declared, so
// the type of a TApplicationException goes into the text: "type 6: ...".
'use strict';

const thrift = require('thrift');
const Peer = require('Peer');

const TRANSPORTS = {
  unframed: thrift.TBufferedTransport,
  framed: thrift.TFramedTransport,
  header: thrift.TBufferedTransport, // it finds its frames itself
  http: thrift.TBufferedTransport,
};
const PROTOCOLS = { binary: thrift.TBinaryProtocol, compact: thrift.TCompactProtocol };

function options(transport, protocol) {
  return {
    transport: TRANSPORTS[transport],
    protocol: transport === 'header' ? thrift.THeaderProtocol : PROTOCOLS[protocol],
  };
}

// connect returns a client of the bookshop. The transport header is missing:
// the generated code flushes the transport and not the protocol, which would
// have to write the header.
function connect(port, transport, protocol, service) {
  const opts = options(transport, protocol);
  const connection =
    transport === 'http'
      ? thrift.createHttpConnection('127.0.0.1', port, { ...opts, path: '/' })
      : thrift.createConnection('127.0.0.1', port, opts);
  connection.on('error', (err) => {
    console.error('the connection to the server:', err);
    process.exit(1);
  });
  return service
    ? new thrift.Multiplexer().createClient(service, Peer, connection)
    : thrift.createClient(Peer, connection);
}

// methods lists the methods of a generated client, base services' included.
function methods(client) {
  const names = new Set();
  for (let p = client; p; p = Object.getPrototypeOf(p)) {
    Object.getOwnPropertyNames(p)
      .filter((name) => name.startsWith('send_'))
      .forEach((name) => names.add(name.slice('send_'.length)));
  }
  return names;
}

function forwarder(client) {
  const handler = {};
  for (const method of methods(client)) {
    const forward = async (...args) => {
      try {
        return await client[method](...args);
      } catch (err) {
        if (!(err instanceof thrift.Thrift.TApplicationException)) {
          throw err;
        }
        const told = String(err.message).startsWith('type '); // by another peer
        throw new Error(told ? err.message : `type ${err.type}: ${err.message}`);
      }
    };
    // Processors look at the number of parameters to choose between promises
    // and callbacks.
    handler[method] = Object.defineProperty(forward, 'length', { value: client[method].length });
  }
  return handler;
}

// atOnce answers some methods without the server behind. The library's server
// needs that in the header transport: it looks for the next request's header
// before a handler that answers later has answered, and then writes none.
const atOnce = {
  echo: (value, done) => done(null, value),
  version: (done) => done(null, 'bookshop 1'),
  ping: (done) => done(null),
};

function createServer(handler, transport, protocol, service) {
  const opts = options(transport, protocol);
  let processor = new Peer.Processor(handler);
  if (service) {
    const multiplexed = new thrift.MultiplexedProcessor();
    multiplexed.registerProcessor(service, processor);
    processor = multiplexed;
  }
  if (transport === 'http') {
    // A constructed processor goes through "processor" only if it is a
    // multiplexed one; the library wraps any other in "new".
    const svc = service ? { processor, ...opts } : { processor: Peer, handler, ...opts };
    return thrift.createWebServer({ services: { '/': svc } });
  }
  return thrift.createMultiplexServer(processor, opts);
}

function main(transport, protocol, service, port, ...there) {
  const handler = transport === 'header' ? atOnce : forwarder(connect(Number(port), ...there));
  const server = createServer(handler, transport, protocol, service);
  server.on('error', (err) => {
    if (err.code !== 'ECONNRESET') {
      console.error('the server:', err); // and no client that went away
    }
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

main(...process.argv.slice(2));
