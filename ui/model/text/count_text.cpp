// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/text/count_text.h"

#include <QCoreApplication>
#include <QTranslator>
#include <algorithm>
#include <limits>

#include "core/base/units.h"

namespace trainyard::ui {
namespace {

// Returns the English plurals of texts with a count. The plurals of other languages are in
// translation files.
class EnglishPlurals : public QTranslator {
 public:
  explicit EnglishPlurals(QObject* parent) : QTranslator(parent) {}
  bool isEmpty() const override { return false; }
  QString translate(const char*, const char* source, const char*, int n) const override {
    if (n < 0) return {};  // a text without a count is unchanged
    QString text = QString::fromUtf8(source);
    text.replace("(s)", n == 1 ? "" : "s").replace("(es)", n == 1 ? "" : "es");
    return text.replace("%n", grouped(n));
  }
};

void install_plurals() {
  QCoreApplication::installTranslator(new EnglishPlurals(QCoreApplication::instance()));
}
Q_COREAPP_STARTUP_FUNCTION(install_plurals)

}  // namespace

QString grouped(std::int64_t number) { return QString::fromStdString(base::format_count(number)); }

int plural(std::int64_t number) {
  return static_cast<int>(std::clamp<std::int64_t>(number, 0, std::numeric_limits<int>::max()));
}

QString size_text(std::int64_t bytes) {
  return QString::fromStdString(base::format_bytes(static_cast<double>(bytes)));
}

QString singular(const QString& noun) {
  if (noun.size() < 3 || noun.contains('/') || !noun.endsWith('s')) return noun;
  // words whose plural ends in "es", such as "classes" and "switches"
  const bool ends_in_es = noun.endsWith("sses") || noun.endsWith("ches");
  return noun.chopped(ends_in_es ? 2 : 1);
}

}  // namespace trainyard::ui
