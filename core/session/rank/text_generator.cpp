// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/rank/text_generator.h"

#include <sched.h>

#include "core/base/units.h"
#include "core/data/dataset.h"
#include "core/experiment/fsdp.h"
#include "core/session/checkpoint/checkpoint.h"
#include "core/session/rank/recipe.h"

namespace trainyard::session {

using base::Result;

bool generates_text(const experiment::Resolved& e) {
  return e.document.run.sampled_characters > 0 && e.data.sequences();
}

bool generates_text_from_checkpoints(const experiment::Resolved& e) {
  return generates_text(e) && experiment::has_partial_parameters(e);
}

std::string sample_text(run::TextSampler& sampler, const experiment::Resolved& e, std::int64_t step,
                        const std::stop_token& stop) {
  const experiment::RunSpec& run = e.document.run;
  const auto seed = static_cast<std::uint64_t>(e.document.training.seed);
  return "after step " + base::format_count(step) + ":\n" +
         sampler.sample(run.sampled_characters, run.temperature, seed, step, stop);
}

// Model that generates text: all parameters in separate memory, loaded from checkpoints, and the
// data set, which defines the characters.
class TextGenerator::CheckpointSampler {
 public:
  CheckpointSampler(std::filesystem::path checkpoints, experiment::Resolved experiment,
                    MakeCompute make_compute)
      : checkpoints_(std::move(checkpoints)),
        e_(std::move(experiment)),
        make_compute_(std::move(make_compute)) {}

  Result<std::string> generate(const std::stop_token& stop) {
    const sched_param none{};
    static_cast<void>(
        // Idle priority applies to this thread and to threads that it creates.
        ::sched_setscheduler(0, SCHED_IDLE, &none));
    if (!sampler_)
      if (const auto ok = prepare(); !ok) return base::fail(ok.error());
    const auto read = read_checkpoint(checkpoints_, e_.model, {parameters_.tensor, state_.tensor});
    if (!read) return base::fail(read.error());
    return sample_text(*sampler_, e_, read->info.step - 1, stop);
  }

 private:
  // Flat buffer in memory that the device can access.
  struct Flat {
    compute::Memory memory;
    compute::Tensor tensor;
  };

  Result<Flat> flat(base::DType dtype, std::int64_t elements) const {
    if (elements == 0) return Flat();
    const compute::Tensor tensor{dtype, {elements}, nullptr};
    return compute_->allocate(tensor.bytes(), "text").map([&](const compute::Memory& memory) {
      return Flat{memory, {dtype, tensor.shape, memory.get()}};
    });
  }

  Result<void> prepare() {
    const auto dataset = data::open(e_.document.data, "");
    if (!dataset) return base::fail(data::at_field(dataset.error(), e_.document.data, ""));
    const topology::Network network(e_.document.topology);
    topology::Device device = network.device(e_.ranks[static_cast<std::size_t>(e_.chief)]);
    device.gpu = -1;  // Uses the CPU, because the chief uses the GPU.
    auto compute = make_compute_(device);
    if (!compute) return base::fail(compute.error());
    compute_ = std::move(*compute);
    const base::DType dtype = e_.document.training.precision == experiment::Precision::fp64
                                  ? base::DType::fp64
                                  : base::DType::fp32;
    auto parameters = flat(dtype, e_.model.elements), state = flat(dtype, e_.model.state_elements);
    if (!parameters || !state) return base::fail((parameters ? state : parameters).error());
    parameters_ = std::move(*parameters), state_ = std::move(*state);
    auto sampler =
        run::TextSampler::make({&e_.model, compute_.get(), parameters_.tensor, state_.tensor,
                                recipe(e_).multiplies, (*dataset)->vocabulary()});
    if (!sampler) return base::fail(sampler.error());
    sampler_.emplace(std::move(*sampler));
    return {};
  }

  std::filesystem::path checkpoints_;
  experiment::Resolved e_;
  MakeCompute make_compute_;
  std::unique_ptr<compute::Compute> compute_;
  Flat parameters_, state_;
  std::optional<run::TextSampler> sampler_;
};

TextGenerator::TextGenerator(std::filesystem::path checkpoints, experiment::Resolved experiment,
                             MakeCompute make_compute)
    : checkpoint_sampler_(std::make_unique<CheckpointSampler>(
          std::move(checkpoints), std::move(experiment), std::move(make_compute))) {}

TextGenerator::~TextGenerator() {
  stop_.request_stop();
  if (running_.valid()) running_.wait();
}

void TextGenerator::notify(std::int64_t steps) {
  known_ = steps;
  start();
}

void TextGenerator::start() {
  if (running_.valid() || begun_ == known_) return;
  begun_ = known_;
  running_ = std::async(std::launch::async,
                        [checkpoint_sampler = checkpoint_sampler_.get(), stop = stop_.get_token()] {
                          return checkpoint_sampler->generate(stop);
                        });
}

std::optional<Result<std::string>> TextGenerator::look() {
  if (!running_.valid() || running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return std::nullopt;
  auto text = running_.get();
  start();
  return text;
}

}  // namespace trainyard::session
