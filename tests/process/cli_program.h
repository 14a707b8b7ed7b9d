// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-cli as a process, and what tests of it share.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"

namespace trainyard::process {

struct Ran {
  int exit_code = -1;  // 128 + signal when one ended it
  std::string out, err;
  std::vector<base::Json> lines()
      const;                  // of standard output, as NDJSON; fails the test where a line is none
  base::Json result() const;  // the last line; fails the test when its type is not "result"
  // The id and `where` of each problem that the result lists, or of the problem that ended the run.
  // Tests compare these, and never the wording of a problem.
  std::vector<std::pair<std::string, std::string>> problems() const;
};

// Runs a program of PATH, with its arguments, to its end.
Ran run_program(std::vector<std::string> command);
// Runs build/.../bin/trainyard-cli to its end. The examples of the source tree are those it lists.
Ran cli(const std::vector<std::string>& arguments);
Ran shell(const std::string& script);  // bash -c, with $CLI naming the program

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more);  // and then these
std::vector<std::string> with_set(std::vector<std::string> arguments,
                                  const std::vector<std::string>& overrides);  // each by --set

std::string example(const std::string& name);  // path of resources/experiments/NAME.json

// A directory of the test's own, gone with it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string write(const std::string& name, const std::string& content) const;  // the path

 private:
  std::filesystem::path path_;
};

std::string read(const std::filesystem::path& path);
// Reads an experiment and replaces device groups by devices, so that tests can edit one device.
base::Json expanded_document(const std::filesystem::path& path);
std::vector<std::string> keys(const base::Json& object);

}  // namespace trainyard::process
