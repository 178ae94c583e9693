// Apache's TNonblockingServer with one IO thread that runs the handlers too,
// which is its quickest form for handlers that do not wait. The code in gen/ is
// made by Apache's compiler when the suite is built.
//
// It prints "port N" when it listens and ends when its standard input does.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <unistd.h>

#include "gen/Bench.h"

using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TNonblockingServer;
using apache::thrift::transport::TNonblockingServerSocket;

class Handler : public calls::BenchIf {
public:
  void noop() override {}
  void echo(std::string& result, const std::string& data) override { result = data; }
  void burn(const int32_t micros) override {
    auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(micros);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
};

// Ready tells the port once the server listens; a socket's own callback comes before it does.
class Ready : public apache::thrift::server::TServerEventHandler {
public:
  explicit Ready(TNonblockingServer& server) : server_(server) {}
  void preServe() override {
    std::printf("port %d\n", server_.getListenPort());
    std::fflush(stdout);
  }

private:
  TNonblockingServer& server_;
};

int main() {
  std::thread([] {
    char b[64];
    while (read(0, b, sizeof b) > 0) {
    }
    _exit(0);
  }).detach();
  TNonblockingServer server(std::make_shared<calls::BenchProcessor>(std::make_shared<Handler>()),
                            std::make_shared<TBinaryProtocolFactory>(),
                            std::make_shared<TNonblockingServerSocket>("127.0.0.1", 0));
  server.setServerEventHandler(std::make_shared<Ready>(server));
  server.serve();
}
