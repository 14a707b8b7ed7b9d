// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/functions.h"

#include <dlfcn.h>

#include <utility>

namespace trainyard::base {

Functions::Functions(std::string file, std::string advice)
    : file_(std::move(file)),
      advice_(std::move(advice)),
      opened_(::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (opened_ == nullptr) error_ = std::string("cannot be opened: ") + ::dlerror();
}

Result<void> Functions::state() const {
  if (error_.empty()) return {};
  return fail(unavailable(error_));
}

Problem Functions::unavailable(const std::string& what) const {
  return {"library_unavailable", ProblemCode::unavailable, file_, what, "", advice_};
}

// A null handle must not be passed to dlsym, which would then search this program.
void* Functions::look_for(const char* name) const {
  return opened_ == nullptr ? nullptr : ::dlsym(opened_, name);
}

}  // namespace trainyard::base
