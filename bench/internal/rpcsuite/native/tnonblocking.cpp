// Apache's TNonblockingServer with one IO thread that runs the handlers too,
// which is its quickest form for handlers that do not wait. The code in gen/ is
// made by Apache's compiler when the suite is built.
//
// It prints "port N" when it listens and ends when its standard input does.
#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
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

int main() {
  auto socket = std::make_shared<TNonblockingServerSocket>("127.0.0.1", 0);
  socket->setListenCallback([](THRIFT_SOCKET fd) {
    sockaddr_in a{};
    socklen_t size = sizeof a;
    getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size);
    std::printf("port %d\n", ntohs(a.sin_port));
    std::fflush(stdout);
  });
  std::thread([] {
    char b[64];
    while (read(0, b, sizeof b) > 0) {
    }
    _exit(0);
  }).detach();
  TNonblockingServer server(std::make_shared<calls::BenchProcessor>(std::make_shared<Handler>()),
                            std::make_shared<TBinaryProtocolFactory>(), socket);
  server.serve();
}
