// SPDX-License-Identifier: GPL-3.0-or-later
// Functions of a shared library that is loaded at run time, so that programs also start on machines
// without the library. The library is never closed, because objects that it created use its code.
#pragma once

#include <string>

#include "core/base/result.h"

namespace trainyard::base {

class Functions {
 public:
  // `file`: name of the library. `advice`: advice of every Problem about the library.
  Functions(std::string file, std::string advice);

  // Looks up a symbol. If the library lacks it, `function` is null, and `state` reports the first
  // missing symbol. `find_optional` is for optional symbols, which `state` does not report.
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(look_for(name));
    if (function == nullptr && error_.empty())
      error_.append("the library has no function ").append(name);
  }
  template <class Function>
  void find_optional(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(look_for(name));
  }

  // Returns Problem `unavailable` if the library cannot be loaded or lacks a required symbol.
  Result<void> state() const;
  Problem unavailable(const std::string& what) const;

 private:
  void* look_for(const char* name) const;

  std::string file_, advice_;
  void* opened_;
  std::string error_;  // first error, reported by `state`
};

}  // namespace trainyard::base
