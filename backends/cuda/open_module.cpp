// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <fmt/core.h>

#include "backends/cuda/cuda.h"

namespace trainyard::cuda {
namespace {

namespace fs = std::filesystem;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr const char* kBuildAgain = "Build or install it again.";

Problem unavailable(const fs::path& file, const std::string& what, const std::string& advice) {
  return {"cuda_module_unavailable",
          ProblemCode::unavailable,
          file.filename().string(),
          what,
          "",
          advice};
}

fs::path beside_the_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path() / kModuleFile;
}

}  // namespace

// Opens the module. The module is never closed, because objects that it created run its code.
Result<const Module*> open_module(const fs::path& file) {
  if (std::error_code ignored; !fs::exists(file, ignored))
    return base::fail(
        unavailable(file, "this build of Trainyard has no CUDA",
                    "Install the CUDA Toolkit, and configure again with -DTRAINYARD_CUDA=ON."));
  void* const opened = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const std::string why = ::dlerror();
    const bool lacks_library = why.find("cannot open shared object file") != std::string::npos;
    return base::fail(
        unavailable(file, fmt::format("the module cannot be opened: {}", why),
                    lacks_library ? "Install the missing CUDA library." : kBuildAgain));
  }
  const auto* const module = static_cast<const Module*>(::dlsym(opened, kModuleSymbol));
  if (module == nullptr)
    return base::fail(unavailable(file, "the file is not a module of Trainyard", kBuildAgain));
  if (std::string(module->version) != TRAINYARD_VERSION)
    return base::fail(
        unavailable(file,
                    fmt::format("the module belongs to Trainyard {}, but this is Trainyard {}",
                                module->version, TRAINYARD_VERSION),
                    kBuildAgain));
  return module;
}

Result<const Module*> module_beside_program() { return open_module(beside_the_program()); }

Result<std::vector<Gpu>> gpus() {
  return module_beside_program().and_then([](const Module* module) { return module->gpus(); });
}

}  // namespace trainyard::cuda
