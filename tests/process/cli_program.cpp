// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/json.h"
#include "core/experiment/device_groups.h"

extern char** environ;

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<base::Json> Ran::lines() const {
  std::vector<base::Json> lines;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) {
    lines.push_back(base::Json::parse(line, nullptr, false));
    EXPECT_TRUE(lines.back().is_object()) << "no line of NDJSON: " << line;
  }
  return lines;
}

base::Json Ran::result() const {
  const auto all = lines();
  const base::Json last = all.empty() ? base::Json::object() : all.back();
  EXPECT_EQ(last.value("type", ""), "result") << out << err;
  return last;
}

std::vector<std::pair<std::string, std::string>> Ran::problems() const {
  const base::Json last = result();
  base::Json listed = last.value("problems", base::Json::array());
  if (const auto one = last.find("problem"); one != last.end()) listed.push_back(*one);
  std::vector<std::pair<std::string, std::string>> found;
  for (const base::Json& problem : listed)
    found.emplace_back(problem.value("id", ""), problem.value("where", ""));
  return found;
}

Ran run_program(std::vector<std::string> arguments) {
  ::setenv("TRAINYARD_RESOURCES", TRAINYARD_SOURCE_DIR "/resources", 1);
  const Scratch scratch;
  const std::string out = scratch / "out", err = scratch / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, pointers.front(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << "cannot start " << arguments.front();
  int status = 0;
  if (error == 0) ::waitpid(pid, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(out), read(err)};
}

Ran cli(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{TRAINYARD_BIN_DIR "/trainyard-cli"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program(all);
}

Ran shell(const std::string& script) {
  ::setenv("CLI", TRAINYARD_BIN_DIR "/trainyard-cli", 1);
  return run_program({"bash", "-c", script});
}

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> with_set(std::vector<std::string> arguments,
                                  const std::vector<std::string>& overrides) {
  for (const std::string& value : overrides) arguments.insert(arguments.end(), {"--set", value});
  return arguments;
}

std::string example(const std::string& name) {
  return TRAINYARD_SOURCE_DIR "/resources/experiments/" + name + ".json";
}

Scratch::Scratch() {
  std::string pattern = fs::temp_directory_path() / "trainyard-cli-XXXXXX";
  path_ = ::mkdtemp(pattern.data());
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Scratch::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name, std::ios::binary) << content;
  return path_ / name;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

base::Json expanded_document(const fs::path& path) {
  base::Json document = base::Json::parse(read(path));
  EXPECT_TRUE(experiment::expand_device_groups(document).empty()) << path;
  return document;
}

std::vector<std::string> keys(const base::Json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

}  // namespace trainyard::process
