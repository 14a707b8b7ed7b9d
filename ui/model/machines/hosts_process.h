// SPDX-License-Identifier: GPL-3.0-or-later
// Child process that runs `trainyard-cli hosts VERB`. Its lines of JSON arrive as signals. The
// process ends with this object.
#pragma once

#include <QObject>
#include <QStringList>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/session/hosts/machine_list.h"

class QProcess;

namespace trainyard::ui {

struct Services;

// Line of `hosts add --ask`, or of another verb with --json. `type` determines which values are
// set.
struct HostsLine {
  std::string type{};  // "question", "progress", "check", "host", "invitation" or "result"
  // type "question": `subject` is "host_key" (fingerprint, kind) or "agent" (name, bytes)
  std::string subject{}, fingerprint{}, kind{}, name{};
  double bytes = 0;
  double sent_bytes = 0, total_bytes = 0;  // type "progress"
  std::string host{}, check{}, text{};     // type "check"; `host` also in the result of `add`
  bool passed = false;
  std::string status{}, destination{}, architecture{};  // type "result"; also type "host"
  std::int64_t cores = 1, memory_bytes = 0;
  // type "host": `seconds` is the time until the machine's consent ends, `silent_seconds` the time
  // since anything arrived from it. Only joined machines have them.
  bool joined = false;
  double seconds = 0, silent_seconds = 0;
  // type "invitation", and the result of `listen`: the invitation admits `machines` more machines
  // for `seconds`. The rows of its QR code have a '1' for each dark module.
  std::string invitation{};
  std::int64_t machines = 0;
  std::vector<std::string> qr_code{};

  session::Machine machine() const;  // machine of the result of `add`, or of a line of `list`
};

class HostsProcess : public QObject {
  Q_OBJECT
 public:
  explicit HostsProcess(QObject* parent = nullptr) : QObject(parent) {}
  ~HostsProcess() override;

  // Starts the verb, such as {"add", "me@node1", "--ask"}. Ends the process that runs before.
  void start(const Services& services, const QStringList& arguments);
  bool running() const { return process_ != nullptr; }
  void answer(bool yes);  // answers the question of the last line
  void cancel();          // ends the process; `ended` is not emitted

 signals:
  void line_read(const HostsLine& line);
  // The process has ended. `problems` is empty if the verb succeeded.
  void ended(const base::Problems& problems);

 private:
  void read_lines();
  void finish();
  void fail_to_start();

  QProcess* process_ = nullptr;
  bool completed_ = false;
  base::Problems problems_;
};

}  // namespace trainyard::ui
