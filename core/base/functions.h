// SPDX-License-Identifier: GPL-3.0-or-later
// Functions of a library that is opened at run time, so that programs start where it is not
// installed. It is never closed: what it made has its code there.
#pragma once

#include <string>

#include "core/base/result.h"

namespace trainyard::base {

class Functions {
 public:
  // `advice` is that of every problem with the library.
  Functions(std::string file, std::string advice);

  // Null where the library has none of that name, which `state` then says, unless it may lack it.
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(look_for(name));
    if (function == nullptr && wrong_.empty()) wrong_ = std::string("has no ") + name;
  }
  template <class Function>
  void find_if_there(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(look_for(name));
  }

  // `unavailable`: it cannot be opened, or lacks what was looked for.
  Result<void> state() const;
  Problem unavailable(const std::string& what) const;

 private:
  void* look_for(const char* name) const;

  std::string file_, advice_;
  void* opened_;
  std::string wrong_;  // the first that was
};

}  // namespace trainyard::base
