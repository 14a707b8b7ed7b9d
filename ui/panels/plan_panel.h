// SPDX-License-Identifier: GPL-3.0-or-later
// Panel with the plan of the current experiment. An all-reduce is shown as one op (coarse) or as
// sends and receives of chunks (expanded). The plan is text with one op per line, or a grid of
// ranks by time. A click on an op marks all its occurrences.
#pragma once

#include <QTimer>
#include <QWidget>
#include <optional>

#include "core/plan/plan.h"
#include "ui/model/document/document.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;

namespace trainyard::ui {

class PlanPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PlanPanel(Document& document, QWidget* parent = nullptr);
  QPlainTextEdit& view() { return *view_; }
  void set_grid(bool grid);
  void set_expanded(bool expanded);
  void set_rank(int rank);
  // Shows the plan text of a rank and selects the line of an op, as soon as the panel is visible.
  // Switches between coarse and expanded plan if the op is only in the other.
  void show_op(int rank, const QString& program, const QString& token);
  QString marked() const { return marked_; }

 signals:
  void settled();  // the plan is up to date

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Asked {
    bool grid = true, expanded = false;
    int rank = 0;
    std::string program = {};
    bool operator==(const Asked&) const = default;
  };
  struct Wanted {
    int rank = 0;
    QString program, token;
  };
  struct Shown {
    Asked of;
    QString text = {};
    int ranks = 0;
    QStringList programs = {};
    bool failed = false;
  };
  void build_bar();
  void build_view();
  static Shown make(const experiment::Experiment& experiment, const std::string& directory,
                    const Asked& asked);
  void document_changed();
  Asked asked() const;
  void ask();
  void show_plan(int version, const Shown& shown);
  void go_to_wanted();
  void mark_at_cursor();
  void mark(const QString& token);
  void find(bool backwards);

  Document& document_;
  QTimer delay_timer_;
  int version_ = 0;
  bool stale_ = true;
  std::optional<Asked> shown_;    // the part of the document's current plan that is shown
  std::optional<Wanted> wanted_;  // op to select as soon as its plan is shown
  QString marked_;
  QComboBox *form_, *detail_, *rank_, *program_;
  QLabel *rank_label_, *program_label_;
  QLineEdit* find_;
  QPlainTextEdit* view_;
};

}  // namespace trainyard::ui
