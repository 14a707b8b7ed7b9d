// SPDX-License-Identifier: GPL-3.0-or-later
// doctor: checks what this machine provides for running experiments.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <zmq.hpp>

#include "app/cli/verbs.h"
#include "app/paths.h"
#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/gloo/gloo.h"
#include "backends/nccl/nccl.h"
#include "backends/shm/transport.h"
#include "core/base/json.h"
#include "core/base/machine.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/session/system/run_directory.h"
#include "core/session/system/socket_directory.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

enum class Verdict { good, absent, bad };  // absent: an optional component is missing

struct Finding {
  std::string name;
  Verdict verdict = Verdict::good;
  std::string what;
  std::string advice;
};

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::good: return "ok";
    case Verdict::absent: return "absent";
    case Verdict::bad: return "bad";
  }
  return "";
}

// Returns the value of the first line that starts with `key` in a /proc file.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin =
        colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

Finding system_finding() {
  utsname names{};
  ::uname(&names);
  return {"system", Verdict::good,
          std::string(names.sysname) + " " + names.release + ", " + names.machine, ""};
}

Finding processor() {
  const std::string model = proc_value("/proc/cpuinfo", "model name");
  const int cores = base::usable_cores();
  return {"processor", Verdict::good,
          (model.empty() ? "unknown model" : model) + ", " + std::to_string(cores) +
              (cores == 1 ? " core usable" : " cores usable"),
          ""};
}

Finding memory() {
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const double total = page * static_cast<double>(::sysconf(_SC_PHYS_PAGES)),
               free =
                   1024 * std::strtod(proc_value("/proc/meminfo", "MemAvailable").c_str(), nullptr);
  return {"memory", Verdict::good,
          base::format_bytes(total) + ", " + base::format_bytes(free) + " available", ""};
}

Finding compute() {
  const auto made = cpu::make(1);
  if (!made) return {"compute", Verdict::bad, made.error().what, "Ranks cannot train here."};
  return {"compute", Verdict::good, (*made)->name(), ""};
}

Finding zeromq() {
  int major = 0, minor = 0, patch = 0;
  ::zmq_version(&major, &minor, &patch);
  return {"zeromq", Verdict::good,
          "version " + std::to_string(major) + "." + std::to_string(minor) + "." +
              std::to_string(patch),
          ""};
}

Finding gloo() {
  if (gloo::version().empty())
    return {"gloo", Verdict::absent, "not in this build; Trainyard's own collectives are used",
            "Install libgloo-dev and build again for strategy.engine=gloo."};
  const auto bound = gloo::bind({0, "127.0.0.1", {{0, 1}}, {}});
  if (!bound)
    return {"gloo", Verdict::bad, base::to_string(bound.error()), "Leave strategy.engine at own."};
  return {"gloo", Verdict::good, "version " + gloo::version() + ", over TCP", ""};
}

// Opens NCCL's library and reads its version, which needs no GPU.
Finding nccl() {
  const auto bound = nccl::bind({.rank = 0, .groups = {{0}}}, nullptr);
  if (bound) return {"nccl", Verdict::good, "installed; needs GPUs", ""};
  return {"nccl", Verdict::absent, bound.error().what, bound.error().advice};
}

Finding cuda() {
  const auto found = cuda::gpus();
  if (!found)
    return {"cuda", Verdict::absent, found.error().what + "; drawn GPUs run emulated on the CPU",
            found.error().advice};
  std::string all;
  bool any = false;
  for (const cuda::Gpu& gpu : *found) {
    const std::string why = cuda::unusable(gpu);
    all += (all.empty() ? "" : ", ") +
           (why.empty()
                ? gpu.name + " (" + base::format_bytes(static_cast<double>(gpu.memory_bytes)) + ")"
                : why);
    any |= why.empty();
  }
  if (!any)
    return {"cuda", Verdict::absent, all + "; drawn GPUs run emulated on the CPU",
            "Use a newer GPU."};
  return {"cuda", Verdict::good, all,
          "To train on one of these GPUs, set the field gpu of a drawn device to the GPU's index, "
          "from 0. "
          "Otherwise the device is emulated on the CPU."};
}

Finding shared_memory() {
  const auto fd = shm::create({1 << 20, 1 << 20}, 1);
  if (!fd)
    return {"shared_memory", Verdict::bad, base::to_string(fd.error()),
            "Use --set run.transport=zmq."};
  const auto transport = shm::open(*fd, 0);
  ::close(*fd);
  if (!transport)
    return {"shared_memory", Verdict::bad, base::to_string(transport.error()),
            "Choose --set run.transport=zmq."};
  return {"shared_memory", Verdict::good, "memfd can be created, sealed and mapped", ""};
}

Finding process_descriptors() {
  const long fd = ::syscall(SYS_pidfd_open, ::getpid(), 0);
  if (fd < 0)
    return {"pidfd", Verdict::absent, std::string("not in this kernel: ") + std::strerror(errno),
            ""};
  ::close(static_cast<int>(fd));
  return {"pidfd", Verdict::good, "supported by this kernel", ""};
}

Finding runtime_directory() {
  const auto directory = session::SocketDirectory::make();
  if (!directory)
    return {"runtime_directory", Verdict::bad, base::to_string(directory.error()),
            "Set XDG_RUNTIME_DIR to a directory that you own."};
  return {"runtime_directory", Verdict::good,
          "sockets are created below " + directory->path().parent_path().string(), ""};
}

// Returns the path if it exists, otherwise its nearest existing ancestor.
fs::path existing(fs::path path) {
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

Finding runs_directory() {
  const fs::path runs = session::default_runs_directory();
  const fs::path there = existing(runs);
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    return {"runs_directory", Verdict::bad,
            runs.string() + " cannot be written: " + std::strerror(errno),
            "Set XDG_DATA_HOME, or give --out to run."};
  std::error_code error;
  const fs::space_info space = fs::space(there, error);
  return {
      "runs_directory", Verdict::good,
      runs.string() +
          (error ? "" : ", " + base::format_bytes(static_cast<double>(space.available)) + " free"),
      ""};
}

Finding program(const char* name, const char* file, Verdict when_missing, const char* advice) {
  const fs::path path = app::program_directory() / file;
  if (::access(path.c_str(), X_OK) == 0) return {name, Verdict::good, path.string(), ""};
  return {name, when_missing, path.string() + " does not exist", advice};
}

Finding examples() {
  const fs::path directory = app::examples_directory();
  if (directory.empty())
    return {"examples", Verdict::absent, "no examples were found beside the program",
            "Set TRAINYARD_RESOURCES to the directory that contains experiments/."};
  return {"examples", Verdict::good, directory.string(), ""};
}

std::vector<Finding> findings() {
  return {system_finding(),
          processor(),
          memory(),
          compute(),
          zeromq(),
          shared_memory(),
          process_descriptors(),
          runtime_directory(),
          runs_directory(),
          program("rank_program", "trainyard-rank", Verdict::bad,
                  "This program runs the ranks. Build or install it beside trainyard-cli."),
          program("workbench", "trainyard", Verdict::absent,
                  "The command line does not need a display."),
          examples(),
          cuda(),
          gloo(),
          nccl()};
}

bool colors() { return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr; }

void print(const Finding& finding) {
  constexpr std::array<const char*, 3> color{"\033[32m", "\033[2m", "\033[31m"};
  const bool colored = colors();
  std::printf("%s%-7s%s %-18s %s", colored ? color[static_cast<std::size_t>(finding.verdict)] : "",
              word(finding.verdict), colored ? "\033[0m" : "", finding.name.c_str(),
              base::printable_line(finding.what).c_str());
  std::printf(finding.advice.empty() ? "\n" : ". %s\n",
              base::printable_line(finding.advice).c_str());
}

struct DoctorArguments {
  bool json = false;
};

int run_doctor(const DoctorArguments& arguments) {
  bool usable = true;
  for (const Finding& finding : findings()) {
    usable = usable && finding.verdict != Verdict::bad;
    if (arguments.json)
      print_json({{"type", "finding"},
                  {"name", finding.name},
                  {"verdict", word(finding.verdict)},
                  {"what", finding.what},
                  {"advice", finding.advice}});
    else print(finding);
  }
  if (arguments.json)
    print_json({{"type", "result"},
                {"status", usable ? "completed" : "failed"},
                {"version", TRAINYARD_VERSION},
                {"usable", usable}});
  else
    std::printf("%s\n",
                usable ? "This machine can run experiments."
                       : "This machine cannot run experiments: correct the components marked bad.");
  return usable ? 0 : 3;
}

}  // namespace

void add_doctor(Verb& program) {
  Verb verb =
      program.add_verb("doctor", "Check this machine for the components that experiments need");
  verb.json_flag(verb.on_run(run_doctor).json);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli doctor\n"
      "  trainyard-cli doctor --json\n"
      "Exit codes: 0 experiments can run on this machine; 3 a required component is missing or "
      "broken.");
}

}  // namespace trainyard::cli
