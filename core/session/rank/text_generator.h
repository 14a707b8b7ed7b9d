// SPDX-License-Identifier: GPL-3.0-or-later
// Text generation while a language model is trained (run/meters/text_sampler.h). A rank that has
// all parameters generates the text itself. If no rank has all, the ranks write their parts as a
// checkpoint after each evaluation. The process that commits the checkpoint then generates text
// from it, in the background at idle priority.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/experiment/resolve.h"
#include "core/run/meters/text_sampler.h"

namespace trainyard::session {

bool generates_text(const experiment::Resolved& experiment);
// True if text is generated, and no rank has all parameters.
bool generates_text_from_checkpoints(const experiment::Resolved& experiment);

// Returns the text of a log line of level "text": a first line such as "after step 19:", and below
// it the text generated with the current parameters.
std::string sample_text(run::TextSampler& sampler, const experiment::Resolved& experiment,
                        std::int64_t step, const std::stop_token& stop = {});

class TextGenerator {
 public:
  using MakeCompute = std::function<base::Result<std::unique_ptr<compute::Compute>>(
      const topology::Device& device)>;
  TextGenerator(std::filesystem::path checkpoints, experiment::Resolved experiment,
                MakeCompute make_compute);
  ~TextGenerator();  // Cancels the generation in progress.
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  // Announces a checkpoint of `steps` steps. If several checkpoints are announced during a
  // generation, only the newest is used.
  void notify(std::int64_t steps);
  // Returns the text finished since the last call; nothing if there is none.
  std::optional<base::Result<std::string>> look();
  bool busy() const { return running_.valid(); }

 private:
  class CheckpointSampler;
  void start();

  std::stop_source stop_;
  // Used only by the background thread while text is being generated.
  std::unique_ptr<CheckpointSampler> checkpoint_sampler_;
  std::int64_t known_ = -1, begun_ = -1;
  std::future<base::Result<std::string>> running_;
};

}  // namespace trainyard::session
