// SPDX-License-Identifier: GPL-3.0-or-later
// Rank that reports a wrong software version or plan hash: $TRAINYARD_IMPOSTOR is "software" or
// "plan".
#include <cstdlib>
#include <iostream>
#include <string>

#include "backends/zmq/control.h"
#include "core/compute/reference/reference.h"
#include "core/session/rank/rank.h"

namespace {

using namespace trainyard;

// Changes messages before they are sent.
class ImpostorClient final : public session::ControlClient {
 public:
  ImpostorClient(std::unique_ptr<session::ControlClient> inner, std::string of)
      : inner_(std::move(inner)), of_(std::move(of)) {}
  base::Result<std::optional<session::Message>> receive(std::chrono::milliseconds limit) override {
    return inner_->receive(limit);
  }
  base::Result<void> send(const session::Message& message) override {
    session::Message changed = message;
    if (auto* hello = std::get_if<session::Hello>(&changed); hello != nullptr && of_ == "software")
      hello->software = "0.0.7-other";
    if (auto* planned = std::get_if<session::Planned>(&changed);
        planned != nullptr && of_ == "plan")
      planned->plan_hash = "0123456789abcdef";
    return inner_->send(changed);
  }

 private:
  std::unique_ptr<session::ControlClient> inner_;
  std::string of_;
};

class NoPlane final : public session::DataPlane {
 public:
  std::string endpoint() const override { return ""; }
  base::Result<std::unique_ptr<comm::Transport>> connect(const std::vector<std::string>&) override {
    return base::fail(
        {"made_by_test", base::ProblemCode::failed, "impostor", "was let in", "", ""});
  }
};

}  // namespace

int main(int argc, char** argv) {
  session::RankIdentity identity;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--rank") identity.rank = std::stoi(argv[i + 1]);
    if (std::string(argv[i]) == "--endpoint") identity.endpoint = argv[i + 1];
  }
  std::getline(std::cin, identity.token);
  const char* of = std::getenv("TRAINYARD_IMPOSTOR");
  session::RankServices services;
  services.connect =
      [of](const std::string& endpoint) -> base::Result<std::unique_ptr<session::ControlClient>> {
    auto client = zmq::connect(endpoint);
    if (!client) return client;
    return std::make_unique<ImpostorClient>(std::move(*client), of != nullptr ? of : "");
  };
  services.make_compute =
      [](const topology::Device&) -> base::Result<std::unique_ptr<compute::Compute>> {
    return compute::reference::make();
  };
  services.make_data_plane =
      [](const session::DataPlaneRequest&) -> base::Result<std::unique_ptr<session::DataPlane>> {
    return std::make_unique<NoPlane>();
  };
  const auto done = session::run_rank(identity, services);
  return !done && done.error().code == base::ProblemCode::refused ? 4 : 3;
}
