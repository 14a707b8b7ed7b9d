// SPDX-License-Identifier: GPL-3.0-or-later
// Fixture of tests on several machines. The tests of a suite share them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "core/base/json.h"
#include "examples.h"
#include "machines.h"
#include "run_program.h"

namespace trainyard::process {

class OnMachines : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (Machines::missing().empty()) machines_ = std::make_unique<Machines>(3);
  }
  static void TearDownTestSuite() { machines_.reset(); }

  void SetUp() override {
    if (const std::string missing = Machines::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }

  // Writes the experiment on m0.
  static std::string written(const base::Json& document) {
    std::ofstream(machines_->files(0) / "experiment.json") << document.dump();
    return "/mnt/experiment.json";
  }
  // Writes an experiment of four hosts; host 0 is m0, and each other one has the given address.
  static std::string drawn_on(const std::vector<std::string>& addresses) {
    base::Json document = expanded_document(example("four_hosts_ring_digits"));
    for (std::size_t host = 0; host < addresses.size(); ++host)
      document["topology"]["hosts"][host + 1]["address"] = addresses[host];
    return written(document);
  }
  static Ran add(int machine) {
    return machines_->cli({"hosts", "add", "m" + std::to_string(machine), "--yes"});
  }
  // The problems of a check of an experiment whose host 1 has the address.
  static std::vector<std::pair<std::string, std::string>> problems_of(const std::string& address) {
    return machines_->cli({"hosts", "check", drawn_on({address}), "--json"}).problems();
  }
  // Runs the experiment on m0, and `command` once m2 has trained for two seconds.
  static Ran run_until(const std::string& experiment, const std::string& command) {
    return machines_->on_coordinator(
        {"sh", "-c",
         "(until pgrep -f '^ssh .* m2 ' >/dev/null; do sleep 0.1; done; sleep 2; " + command +
             ") & exec \"$@\"",
         "sh", TRAINYARD_BIN_DIR "/trainyard-cli", "run", experiment, "--steps", "1000000",
         "--json"});
  }
  static void expect_no_process_within(double seconds, int machine) {
    EXPECT_TRUE(
        wait_until(seconds, [&] { return machines_->on(machine, "pgrep trainyard").out.empty(); }))
        << "on m" << machine;
  }
  static std::string known_hosts() { return machines_->files(0) / "home/.ssh/known_hosts"; }
  static std::string fingerprint_of(int machine) {
    std::istringstream words(
        run_program({"ssh-keygen", "-l", "-f", machines_->files(machine) / "host_key.pub"}).out);
    std::string bits, fingerprint;
    words >> bits >> fingerprint;
    return fingerprint;
  }

  static inline std::unique_ptr<Machines> machines_;
};

}  // namespace trainyard::process
