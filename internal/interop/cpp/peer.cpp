// Apache Thrift's C++ library as a client and as a server of the bookshop.
//
//     peer TRANSPORT PROTOCOL SERVICE PORT TRANSPORT PROTOCOL SERVICE
//
// It serves the bookshop in the first three's dialect, prints its port, and
// forwards each call to the server at PORT in the other's: a server and a
// client, both of generated code. SERVICE is the name in the multiplexed
// protocol, or empty. The code that `thrift --gen cpp` makes of
// testdata/peer.thrift is compiled with this file as one unit, which takes half
// the time of several.

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include <thrift/processor/TMultiplexedProcessor.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/THeaderProtocol.h>
#include <thrift/protocol/TMultiplexedProtocol.h>
#include <thrift/protocol/TProtocolDecorator.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/THttpClient.h>
#include <thrift/transport/THttpServer.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include "Base.cpp"
#include "Peer.cpp"
#include "Shop.cpp"
#include "common_types.cpp"
#include "shop_types.cpp"

// The generated code declares the order of the structs that are keys and leaves
// it to its user.
bool Shelf::operator<(const Shelf& other) const {
  return aisle != other.aisle ? aisle < other.aisle : level < other.level;
}

using namespace apache::thrift;
using namespace apache::thrift::protocol;
using namespace apache::thrift::transport;
using std::make_shared;
using std::shared_ptr;
using std::string;

namespace {

struct Dialect {
  string transport, protocol, service;

  bool header() const { return transport == "header" || transport == "header-zlib"; }
};

// HeaderFactory makes the header transport's protocol, which holds the
// transport itself.
class HeaderFactory : public TProtocolFactory {
public:
  explicit HeaderFactory(const Dialect& d) : d_(d) {}

  shared_ptr<TProtocol> getProtocol(shared_ptr<TTransport> trans) override {
    return getProtocol(trans, trans);
  }

  shared_ptr<TProtocol> getProtocol(shared_ptr<TTransport> in, shared_ptr<TTransport> out) override {
    auto id = d_.protocol == "compact" ? T_COMPACT_PROTOCOL : T_BINARY_PROTOCOL;
    auto protocol = make_shared<THeaderProtocol>(in, out, id);
    if (d_.transport == "header-zlib") {
      auto header = std::dynamic_pointer_cast<THeaderTransport>(protocol->getTransport());
      header->setTransform(THeaderTransport::ZLIB_TRANSFORM);
    }
    return protocol;
  }

private:
  Dialect d_;
};

shared_ptr<TProtocolFactory> protocolFactory(const Dialect& d) {
  if (d.header()) {
    return make_shared<HeaderFactory>(d);
  }
  if (d.protocol == "compact") {
    return make_shared<TCompactProtocolFactory>();
  }
  return make_shared<TBinaryProtocolFactory>();
}

// Telling gives errors that are not declared a text with their type, as
// generated processors send only the text on.
class Telling : public TProtocolDecorator {
public:
  explicit Telling(shared_ptr<TProtocol> protocol) : TProtocolDecorator(protocol) {}

  uint32_t readMessageBegin_virt(string& name, TMessageType& type, int32_t& seqid) override {
    auto n = TProtocolDecorator::readMessageBegin_virt(name, type, seqid);
    if (type == T_EXCEPTION) {
      TApplicationException e;
      e.read(this);
      readMessageEnd();
      getTransport()->readEnd();
      string text = e.what();
      if (text.compare(0, 5, "type ") != 0) { // else another peer has told
        text = "type " + std::to_string(e.getType()) + ": " + text;
      }
      throw std::runtime_error(text);
    }
    return n;
  }
};

shared_ptr<PeerIf> connect(int port, const Dialect& d) {
  auto socket = make_shared<TSocket>("127.0.0.1", port);
  shared_ptr<TTransport> transport = socket;
  if (d.transport == "unframed") {
    transport = make_shared<TBufferedTransport>(socket);
  } else if (d.transport == "framed") {
    transport = make_shared<TFramedTransport>(socket);
  } else if (d.transport == "http") {
    transport = make_shared<THttpClient>(socket, "127.0.0.1", "/");
  }
  socket->open();
  auto protocol = protocolFactory(d)->getProtocol(transport);
  if (!d.service.empty()) {
    protocol = make_shared<TMultiplexedProtocol>(protocol, d.service);
  }
  return make_shared<PeerClient>(make_shared<Telling>(protocol));
}

shared_ptr<TTransportFactory> transportFactory(const Dialect& d) {
  if (d.transport == "unframed") {
    return make_shared<TBufferedTransportFactory>();
  }
  if (d.transport == "framed") {
    return make_shared<TFramedTransportFactory>();
  }
  if (d.transport == "http") {
    return make_shared<THttpServerTransportFactory>();
  }
  return make_shared<TTransportFactory>(); // the header's protocol holds it
}

// Announcing prints the port as soon as the server listens.
class Announcing : public server::TServerEventHandler {
public:
  explicit Announcing(shared_ptr<TServerSocket> socket) : socket_(socket) {}

  void preServe() override { std::cout << socket_->getPort() << std::endl; }

private:
  shared_ptr<TServerSocket> socket_;
};

void serve(const Dialect& d, shared_ptr<PeerIf> handler) {
  shared_ptr<TProcessor> processor = make_shared<PeerProcessor>(handler);
  if (!d.service.empty()) {
    auto multiplexed = make_shared<TMultiplexedProcessor>();
    multiplexed->registerProcessor(d.service, processor);
    processor = multiplexed;
  }
  auto socket = make_shared<TServerSocket>("127.0.0.1", 0);
  server::TThreadedServer server(processor, socket, transportFactory(d), protocolFactory(d));
  server.setServerEventHandler(make_shared<Announcing>(socket));
  server.serve();
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::cerr << "peer: seven arguments, not " << argc - 1 << std::endl;
    return 2;
  }
  GlobalOutput.setOutputFunction([](const char*) {}); // clients that go away
  try {
    auto client = connect(std::stoi(argv[4]), Dialect{argv[5], argv[6], argv[7]});
    serve(Dialect{argv[1], argv[2], argv[3]}, client);
  } catch (const std::exception& e) {
    std::cerr << "peer: " << e.what() << std::endl;
    return 1;
  }
  return 0;
}
