// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "core/base/descriptor.h"
#include "core/base/file.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;
using Write = std::function<base::Result<void>(std::ostream& out)>;

base::Problem not_written(const std::string& name, int error_number) {
  return base::system_problem(name, "cannot be written", error_number);
}

// `name`: name of the file in problems, which may be another than that of the temporary file.
base::Result<void> write_into(const fs::path& file, const std::string& name, const Write& write) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out) return base::fail(not_written(name, errno));
  auto written = write(out);
  out.close();
  if (!written || out) return written;
  return base::fail({"export_failed", base::ProblemCode::failed, name,
                     "the file could not be written completely", "",
                     "Free space on that disk, or write elsewhere."});
}

}  // namespace

base::Result<void> write_output_file(const std::string& name, const Write& write) {
  if (base::is_not_regular_file(name)) return write_into(name, name, write);
  std::error_code error;
  const fs::path file = base::resolve_link(name);
  fs::path partial;
  base::Descriptor made(-1);
  for (int i = 0; i < 100 && !made.is_open();
       // O_EXCL refuses an existing file, and a symbolic link that another user planted at the
       // temporary path
       ++i) {
    partial = file.string() + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    made = base::Descriptor(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!made.is_open() && errno != EEXIST) break;
  }
  if (!made.is_open()) return base::fail(not_written(name, errno));
  auto written = write_into(partial, name, write);
  if (written && ::fsync(made.get()) != 0) written = base::fail(not_written(name, errno));
  if (written) {
    fs::rename(partial, file, error);
    if (error) written = base::fail(not_written(name, error.value()));
    base::sync_directory(file.parent_path());
  }
  if (!written) fs::remove(partial, error);
  return written;
}

}  // namespace trainyard::cli
