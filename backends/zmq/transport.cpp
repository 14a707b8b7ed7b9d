// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/zmq/transport_end.h"

namespace trainyard::zmq {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;

// Maximum path length in bytes: sockaddr_un holds 108 bytes, including the terminating zero.
constexpr std::size_t kMaxIpcPathLength = 107;
constexpr std::string_view kAcceptedEndpoints = "ipc://PATH of up to 107 bytes, tcp://ADDRESS:PORT";

Problem bad_endpoint(const std::string& endpoint, const std::string& what) {
  return {"bad_endpoint", ProblemCode::bad_input,          fmt::format("endpoint \"{}\"", endpoint),
          what,           std::string(kAcceptedEndpoints), ""};
}

bool is_wildcard(std::string_view host) {
  constexpr std::array<std::string_view, 6> wildcards{"", "*", "0.0.0.0", "::", "[::]", "0"};
  return std::find(wildcards.begin(), wildcards.end(), host) != wildcards.end();
}

Result<void> check_endpoint(const std::string& endpoint) {
  constexpr std::string_view ipc = "ipc://", tcp = "tcp://";
  if (endpoint.starts_with(ipc)) {
    const std::size_t length = endpoint.size() - ipc.size();
    if (length < 1 || length > kMaxIpcPathLength)
      return base::fail(bad_endpoint(endpoint, fmt::format("the path has {} bytes", length)));
    return {};
  }
  const std::size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with(tcp) || colon < tcp.size())
    return base::fail(bad_endpoint(endpoint, "ranks cannot connect to this address"));
  if (is_wildcard(std::string_view(endpoint).substr(tcp.size(), colon - tcp.size())))
    return base::fail(bad_endpoint(endpoint, "the address would listen on all network interfaces"));
  return {};
}

// Connections to a rank beyond those of its peers: ranks that reconnect, and strangers.
constexpr int kSpareConnections = 8;

class BoundSocket final : public Bound {
 public:
  BoundSocket(Identity identity, const TransportOptions& options)
      : identity_(identity),
        options_(options),
        context_(std::make_unique<::zmq::context_t>(1)),
        handler_(options.keys.public_key.empty()
                     ? nullptr
                     : std::make_unique<KeyHandler>(*context_, options.keys.public_key)),
        inbox_(*context_, ::zmq::socket_type::pull),
        gate_(*context_, inbox_, "inbox", identity.ranks + kSpareConnections) {}

  // Fails if encryption does not protect the socket. Throws ::zmq::error_t.
  Result<void> listen(const std::string& endpoint) {
    configure(inbox_, options_);
    configure_for_endpoint(inbox_, endpoint);
    if (handler_) KeyHandler::protect_server(inbox_, options_.keys);
    inbox_.bind(endpoint);
    gate_.set_endpoint(this->endpoint());
    if (!handler_) return {};
    return refuses_unknown_keys(*context_, this->endpoint(), options_.keys.public_key);
  }
  std::string endpoint() const override { return inbox_.get(::zmq::sockopt::last_endpoint); }

  Result<std::unique_ptr<Transport>> connect(const std::vector<std::string>& endpoints) override {
    if (endpoints.size() != static_cast<std::size_t>(identity_.ranks) || context_ == nullptr)
      return base::fail({"bad_endpoint", ProblemCode::bad_usage, "zmq transport",
                         "connect needs one endpoint per rank, and must be called once",
                         fmt::format("{} endpoints", identity_.ranks), ""});
    for (int peer = 0; peer < identity_.ranks; ++peer)
      if (const auto& endpoint = endpoints[static_cast<std::size_t>(peer)];
          peer != identity_.rank && !endpoint.empty())
        if (auto ok = check_endpoint(endpoint); !ok) return base::fail(ok.error());
    try {
      return std::make_unique<End>(identity_, options_, std::move(context_), std::move(handler_),
                                   std::move(inbox_), std::move(gate_), endpoints);
    } catch (const ::zmq::error_t& error) {
      return base::fail(
          base::system_problem("zmq transport", "cannot connect to peers", error.num()));
    }
  }

 private:
  Identity identity_;
  TransportOptions options_;
  std::unique_ptr<::zmq::context_t> context_;
  std::unique_ptr<KeyHandler> handler_;  // null if sockets are not encrypted
  ::zmq::socket_t inbox_;
  ConnectionGate gate_;
};

}  // namespace

Result<std::unique_ptr<Bound>> bind(int rank, int ranks, std::uint32_t generation,
                                    const std::string& endpoint, const TransportOptions& options) {
  if (ranks < 1 || rank < 0 || rank >= ranks || options.channels < 1)
    return base::fail(
        {"unknown_rank", ProblemCode::bad_usage, "zmq transport",
         fmt::format("rank {} does not exist, because there are {} ranks", rank, ranks), "", ""});
  if (auto ok = check_endpoint(endpoint); !ok) return base::fail(ok.error());
  try {
    auto bound = std::make_unique<BoundSocket>(Identity{rank, ranks, generation}, options);
    if (auto ok = bound->listen(endpoint); !ok) return base::fail(ok.error());
    return bound;
  } catch (const ::zmq::error_t& error) {
    return base::fail(Problem{
        "cannot_listen", ProblemCode::unavailable, fmt::format("endpoint \"{}\"", endpoint),
        fmt::format("cannot listen: {}", error.what()), "", "Choose another address or port."});
  }
}

}  // namespace trainyard::zmq
