// SPDX-License-Identifier: GPL-3.0-or-later
// The model of the current experiment as a graph: its nodes, their figures and cost, and their
// assignment to devices. Layers are dragged between devices; each move is one undo step.
#pragma once

#include <QTimer>
#include <QWidget>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "ui/modelview/model_view.h"

class QToolButton;

namespace trainyard::ui {

class TintedLabel;

class ModelPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ModelPanel(Document& document, QWidget* parent = nullptr);
  ModelView& view() { return *view_; }
  const ModelPicture& picture() const { return view_->picture(); }
  QString totals_text() const;
  QString note_text()
      const;  // reason for a refusal, or problem of the layers' assignment; empty: none
  QString details_text() const;

  void set_seen(bool seen);  // a panel behind another tab clears its marks on the canvas

  // Moves layers that were dragged to a device of the drawing; waits until the picture matches the
  // document.
  void move_to_device(const QStringList& layers, const std::string& device);

 signals:
  void settled();  // the latest picture is shown
  void pointed(
      // devices that have the selected layers, while the panel is visible
      const std::set<std::string>& devices);
  void message(const QString& text);  // for the status bar: the reason for a refusal

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  using Move = std::function<base::Result<std::vector<int>>(const ModelPicture&)>;
  struct Wanted {
    QString what;  // name on the undo stack
    Move move;
  };
  void build_bar();
  void build_foot();
  void document_changed();
  void look();
  void show_picture(int version, const ModelPicture& picture);
  void update_texts();
  void show_note();
  void show_selection();
  void move(const QString& what, const Move& move);
  void do_move(const Wanted& wanted);
  void refuse(const QString& why);

  Document& document_;
  QTimer delay_timer_;
  int version_ = 0;
  bool current_ = false;  // the picture matches the document
  bool seen_ = true;      // not behind another tab
  // true while a move changes the document to what the picture already shows
  bool moving_ = false;
  std::optional<Wanted> wanted_;
  QString refused_;
  TintedLabel *totals_ = nullptr, *note_ = nullptr, *details_ = nullptr;
  QToolButton* overview_ = nullptr;
  ModelView* view_ = nullptr;
};

}  // namespace trainyard::ui
