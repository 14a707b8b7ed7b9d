// SPDX-License-Identifier: GPL-3.0-or-later
// list: the stable names of strategies, algorithms, models and so on, with one line of help each,
// and the GPUs of this machine.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "app/cli/verbs.h"
#include "app/paths.h"
#include "backends/cuda/cuda.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/experiment/fields.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

struct Item {
  std::string name, help;
  std::string file;                   // file of the example; only for examples
  std::optional<cuda::Gpu> gpu = {};  // only for GPUs
};

const char* help(experiment::StrategyKind kind) {
  switch (kind) {
    case experiment::StrategyKind::one_device:
      return "Training on one device, without communication";
    case experiment::StrategyKind::mirrored:
      return "A replica per device; gradients are all-reduced in buckets during the backward pass";
    case experiment::StrategyKind::ddp:
      return "As torch DDP: rank 0 broadcasts its parameters once, then gradients are all-reduced "
             "in buckets, last layers first";
    case experiment::StrategyKind::multi_worker_mirrored:
      return "Mirrored over several hosts, in lockstep";
    case experiment::StrategyKind::central_storage:
      return "The host's CPU stores the variables, sums the gradients of the other devices and "
             "updates; the other devices compute";
    case experiment::StrategyKind::data_parallel:
      return "As torch DataParallel: device 0 scatters samples and broadcasts parameters at every "
             "step, gathers outputs, sums gradients and updates";
    case experiment::StrategyKind::parameter_server:
      return "Variables on devices with the role parameter_server; workers pull, compute and push, "
             "asynchronously or in lockstep";
    case experiment::StrategyKind::gossip:
      return "Local parameters on every device, averaged with neighbors only, at every step or "
             "asynchronously";
    case experiment::StrategyKind::local_sgd:
      return "Local parameters on every device, averaged over all devices every H steps, or moved "
             "toward a common center";
    case experiment::StrategyKind::model_parallel:
      return "Each device has some layers (vertical); samples pass from device to device, one "
             "device computes at a time";
    case experiment::StrategyKind::pipeline:
      return "Each device has some layers; several micro-batches are in flight";
    case experiment::StrategyKind::fsdp:
      return "As torch FSDP: every device keeps a shard (1/n) of parameters, gradients and "
             "moments, and gathers parameters when needed";
    case experiment::StrategyKind::tensor_parallel:
      return "Each layer is split (horizontal): every device has some rows or columns of it";
    case experiment::StrategyKind::hybrid:
      return "A device mesh, data x pipeline x tensor: each replica is a pipeline of stages whose "
             "layers are split";
    case experiment::StrategyKind::rpc:
      return "As torch RPC: parameter servers keep layers, which trainers call with different "
             "samples";
    case experiment::StrategyKind::tpu:
      return "Mirrored on a torus of TPUs: bfloat16 multiplies, sums along rows and columns; "
             "EMULATED on CPU cores, so speeds are not those of a TPU";
  }
  return "";
}

std::string help(collective::Algorithm algorithm) {
  return std::string(collective::description(algorithm));
}

const char* help(data::DataKind kind) {
  switch (kind) {
    case data::DataKind::digits:
      return "Images of digits, 28 x 28, 10 classes; generated, needs no file";
    case data::DataKind::spirals:
      return "Interleaved spirals in the plane; generated, needs no file";
    case data::DataKind::blobs: return "Gaussian clouds; generated, needs no file";
    case data::DataKind::clicks:
      return "Click log: categorical features with Zipf frequencies, and dense features; "
             "generated, needs no file";
    case data::DataKind::grammar:
      return "Text: sentences of a small grammar, by character; generated, needs no file";
    case data::DataKind::idx: return "IDX files (MNIST format), plain or .gz";
    case data::DataKind::csv: return "CSV file: one sample per line, one column is the class";
    case data::DataKind::text: return "UTF-8 text file, by character, plain or .gz";
  }
  return "";
}

template <class Enum>
std::vector<Item> named() {
  std::vector<Item> items;
  for (const auto& [value, word] : base::Names<Enum>::table)
    items.push_back({std::string(word), help(value), ""});
  return items;
}

// Returns the kinds of models. A model is a list of layers; the layers determine its kind.
std::vector<Item> models() {
  std::string layers;
  for (const auto& [kind, name] : base::Names<model::LayerKind>::table)
    if (!model::looks_up(kind)) layers += (layers.empty() ? "" : ", ") + std::string(name);
  return {
      {"mlp",
       "Multi-layer perceptron: a list of layers (linear, relu, tanh, ...) with a softmax "
       "cross-entropy loss",
       ""},
      {"cnn",
       "Convolutional network for image data: a list of layers (" + layers +
           ") with a softmax cross-entropy loss",
       ""},
      {"embedding",
       "Embedding model for index data: an embedding_bag, which sums the table rows that a sample "
       "names, then linear layers with a softmax cross-entropy loss",
       ""},
      {"wide_and_deep",
       "Wide and deep model: an embedding model with a final wide layer, which adds a linear model "
       "of the indices to the logits (Cheng et al. 2016)",
       ""},
      {"gpt",
       "Character language model for text data: an embedding, transformer blocks, a layer_norm and "
       "a linear layer (Radford et al. 2019)",
       ""}};
}

Item example(const fs::path& file) {
  const auto experiment = experiment::load(file);
  return {file.stem().string(),
          experiment ? experiment->name : "cannot be read: " + experiment.error().front().what,
          file.string()};
}

std::vector<Item> examples() {
  std::vector<Item> items;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(app::examples_directory(), error))
    if (entry.path().extension() == ".json") items.push_back(example(entry.path()));
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.name < b.name; });
  return items;
}

// Lists the GPUs. If there are none, prints the reason to standard error.
std::vector<Item> gpus() {
  std::vector<Item> items;
  const auto found = cuda::gpus();
  if (!found) std::fprintf(stderr, "note: %s\n", base::to_string(found.error()).c_str());
  for (const cuda::Gpu& gpu : found.value_or(std::vector<cuda::Gpu>{})) {
    if (const std::string why = cuda::unusable(gpu); !why.empty()) {
      std::fprintf(stderr, "note: GPU %d is omitted: %s\n", gpu.number, why.c_str());
      continue;
    }
    std::string note = "GPU " + std::to_string(gpu.number) + " of this machine, " +
                       base::format_bytes(static_cast<double>(gpu.memory_bytes));
    if (gpu.memory_bandwidth_bytes_per_second > 0)
      note += " at " + base::with_unit(gpu.memory_bandwidth_bytes_per_second, "B/s");
    if (gpu.peak_flops > 0) note += ", " + base::with_unit(gpu.peak_flops, "FLOP/s") + " in fp32";
    if (!gpu.links.empty()) note += ", " + gpu.links;
    items.push_back({gpu.name, note + ", at " + gpu.bus, "", gpu});
  }
  return items;
}

// Adds the properties of a GPU to a line of JSON, with the field names that a device has in a
// drawing. Unknown properties are left out.
void add_gpu(const cuda::Gpu& gpu, base::Json& line) {
  line["number"] = gpu.number, line["memory_bytes"] = gpu.memory_bytes;
  if (gpu.peak_flops > 0) line["peak_flops"] = gpu.peak_flops;
  if (gpu.memory_bandwidth_bytes_per_second > 0)
    line["memory_bandwidth_bytes_per_second"] = gpu.memory_bandwidth_bytes_per_second;
  if (!gpu.links.empty()) line["links"] = gpu.links;
}

struct Kind {
  const char* name;
  std::vector<Item> (*items)();
};
constexpr Kind kKinds[] = {{"strategies", named<experiment::StrategyKind>},
                           {"algorithms", named<collective::Algorithm>},
                           {"models", models},
                           {"datasets", named<data::DataKind>},
                           {"examples", examples},
                           {"gpus", gpus}};

void print_items(const std::vector<Item>& items) {
  std::size_t width = 0;
  for (const Item& item : items) width = std::max(width, item.name.size());
  for (const Item& item : items)
    std::printf("%-*s  %s\n", static_cast<int>(width), item.name.c_str(), item.help.c_str());
}

void print_json_items(const char* kind, const std::vector<Item>& items) {
  base::Json names = base::Json::array();
  for (const Item& item : items) {
    base::Json line{{"type", "item"}, {"name", item.name}, {"help", item.help}};
    if (!item.file.empty()) line["file"] = item.file;
    if (item.gpu) add_gpu(*item.gpu, line);
    print_json(line);
    names.push_back(item.name);
  }
  print_json({{"type", "result"}, {"status", "completed"}, {"kind", kind}, {"names", names}});
}

struct ListArguments {
  std::string kind;
  bool json = false;
};

int run_list(const ListArguments& arguments) {
  const Kind& kind = *std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& k) { return arguments.kind == k.name; });
  const std::vector<Item> items = kind.items();
  if (items.empty() && kind.items == examples)
    std::fprintf(stderr,
                 "note: no %s were found. Set TRAINYARD_RESOURCES to the directory that contains "
                 "experiments/.\n",
                 kind.name);
  if (arguments.json) print_json_items(kind.name, items);
  else print_items(items);
  return 0;
}

}  // namespace

void add_list(Verb& program) {
  std::vector<std::string> kinds;
  for (const Kind& k : kKinds) kinds.emplace_back(k.name);
  Verb verb = program.add_verb(
      "list",
      "List strategies, algorithms, models, data sets, examples, or the GPUs of this machine");
  ListArguments& arguments = verb.on_run(run_list);
  verb.option("kind", arguments.kind, "Kind of items to list").required().one_of(kinds);
  verb.json_flag(arguments.json);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli list strategies\n"
      "  trainyard-cli list examples --json");
}

}  // namespace trainyard::cli
