// SPDX-License-Identifier: GPL-3.0-or-later
// What a language model makes up while it is trained (run/text_sampler.h). A rank that has all of
// the parameters says it by these. Where no rank has, all write their parts when held-out samples
// were measured, together a checkpoint, and whoever commits it says by that: beside training, at
// the least priority.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/experiment/resolve.h"
#include "core/run/text_sampler.h"

namespace trainyard::session {

bool makes_up_text(const experiment::Resolved& experiment);
bool makes_up_text_of_parts(
    const experiment::Resolved& experiment);  // and no rank has all of the parameters

// A line of the log whose level is "text": "after step 19:" and, below, what was made up by the
// parameters as they were then.
std::string spoken(run::TextSampler& sampler, const experiment::Resolved& experiment,
                   std::int64_t step, const std::stop_token& stop = {});

class Speaker {
 public:
  using MakeCompute = std::function<base::Result<std::unique_ptr<compute::Compute>>(
      const topology::Device& device)>;
  Speaker(std::filesystem::path checkpoints, experiment::Resolved experiment,
          MakeCompute make_compute);
  ~Speaker();  // what it is about to say is left unsaid
  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;

  // There is a checkpoint of so many steps. Of those that come while it speaks the newest is
  // enough.
  void tell(std::int64_t steps);
  // What it has said since it was asked last.
  std::optional<base::Result<std::string>> look();
  bool busy() const { return running_.valid(); }

 private:
  class Voice;
  void start();

  std::stop_source stop_;
  std::unique_ptr<Voice> voice_;  // of one thread at a time
  std::int64_t told_ = -1, begun_ = -1;
  std::future<base::Result<std::string>> running_;
};

}  // namespace trainyard::session
