// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/machines/ssh_config.h"

#include <QDir>
#include <QFile>
#include <QRegularExpression>

namespace trainyard::ui {
namespace {

constexpr qint64 kConfigBytes = 1'000'000;

}  // namespace

QStringList ssh_hosts(const QString& config) {
  static const QRegularExpression entry(R"(^\s*Host(?:\s*=\s*|\s+)(.*?)\s*$)",
                                        QRegularExpression::CaseInsensitiveOption),
      separator(R"([\s"]+)"), pattern(R"([*?!#])");
  QStringList names;
  for (const QString& line : config.split('\n'))
    for (const QString& name : entry.match(line).captured(1).split(separator, Qt::SkipEmptyParts)) {
      if (name.startsWith('#')) break;  // begins a comment
      if (!name.contains(pattern) && !names.contains(name)) names << name;
    }
  return names;
}

QStringList configured_ssh_hosts() {
  QFile file(QDir::home().filePath(".ssh/config"));
  return file.open(QFile::ReadOnly) ? ssh_hosts(QString::fromUtf8(file.read(kConfigBytes)))
                                    : QStringList();
}

}  // namespace trainyard::ui
